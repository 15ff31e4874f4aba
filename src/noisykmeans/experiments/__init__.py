"""The paper's experiments, run and drawn again.

Each experiment has a module, whose docstring says what is reproduced: `mod1`, `mod2` and
`instability`. A run is one data set, on which all methods (`methods`) are tried; `reproduction`
does the runs of a `Scope` with given `Settings`, and writes tables and figures into a folder:

    Scope, Settings -> runner (methods on each data set) -> Journal -> tables, figures

A run's result depends on the settings and on which run it is, and on nothing else: not on the
number of workers, nor on whether the work was interrupted.
"""

from noisykmeans.experiments.settings import EXPERIMENTS, Scope, Settings

__all__ = ["EXPERIMENTS", "Scope", "Settings"]
