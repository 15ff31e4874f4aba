"""The command line: thin verbs. What they need loads inside them, so that help answers at once."""

from __future__ import annotations

import click

from noisykmeans import __version__
from noisykmeans.cli.completion import completion
from noisykmeans.cli.demo import demo
from noisykmeans.cli.fit import fit
from noisykmeans.cli.predict import predict
from noisykmeans.cli.reproduce import reproduce
from noisykmeans.cli.show import show

__all__ = ["main"]


class _InOrder(click.Group):
    """Verbs in the order in which people need them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(self.commands)


@click.group(cls=_InOrder, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="noisykmeans")
def main() -> None:
    """k-means for data with measurement errors.

    \b
    A first look, without data:
      noisykmeans demo --seed 1
    A table with columns x, y and their standard errors x_err, y_err:
      noisykmeans fit stars.csv --clusters 3 --out model.npz --report stars.html
      noisykmeans predict model.npz more.csv --out labels.csv
      noisykmeans show model.npz

    `noisykmeans VERB --help` tells more, with an example.

    \b
    Exit codes:
      0  done
      1  a file cannot be read or written, the data cannot be clustered, or interrupted
      2  wrong use: an option, a column, or a file that exists
    """


for verb in (fit, predict, show, demo, reproduce, completion):
    main.add_command(verb)
