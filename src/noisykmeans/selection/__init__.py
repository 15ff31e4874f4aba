"""Choosing the bandwidth, or the number of steps, from the data: one rule per module."""

from noisykmeans.selection.base import Rule, Selection, StepRule, Task
from noisykmeans.selection.cross_validation import CrossValidation
from noisykmeans.selection.fixed import Fixed, FixedSteps
from noisykmeans.selection.lepski import Lepski
from noisykmeans.selection.oracle import Oracle
from noisykmeans.selection.rate import Rate, StepRate
from noisykmeans.selection.renoise import Renoise

__all__ = [
    "CrossValidation",
    "Fixed",
    "FixedSteps",
    "Lepski",
    "Oracle",
    "Rate",
    "Renoise",
    "Rule",
    "Selection",
    "StepRate",
    "StepRule",
    "Task",
]
