"""The verb that lets shells complete the others."""

from __future__ import annotations

import click

__all__ = ["completion"]


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script for completion in a shell.

    It completes verbs, options and files.

    \b
    Example, for bash; the line may go into ~/.bashrc:
      eval "$(noisykmeans completion bash)"
    """
    from click.shell_completion import get_completion_class  # noqa: PLC0415  rarely wanted

    kind = get_completion_class(shell)
    root = context.find_root()
    if kind is None:
        raise click.ClickException(f"there is no completion for {shell}")
    name = "noisykmeans"
    click.echo(kind(root.command, {}, name, "_NOISYKMEANS_COMPLETE").source())
