"""Values of the package as JSON and plain arrays, and back: no code is stored, and none is run.

A value becomes JSON in which arrays stand by their name; arrays are kept beside it. Laws, windows,
rules and frozen values are stored by the parameters that make them, estimators by theirs and by
what they have fitted. Only the classes of a fixed list are made when a file is read.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

from noisykmeans.distributed import is_collection
from noisykmeans.noise import Noise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

__all__ = ["UnsavableError", "decode", "encode"]

# By the namespace that a name is public in: what a file may ask for.
CLASSES = {
    "deconvolution": ("Bumps",),
    "density": ("Density",),
    "estimators": ("DeconvolvedDensity", "NoisyKMeans"),
    "grid": ("Grid",),
    "groups": ("Group", "Groups", "Kind", "Pooled"),
    "histogram": ("Histogram",),
    "noise": (
        "Cauchy",
        "Differences",
        "Empirical",
        "Gaussian",
        "Independent",
        "Laplace",
        "PerObservation",
        "Projected",
        "Student",
        "Sum",
        "Uniform",
    ),
    "profile": ("Counts", "Profile"),
    "selection": (
        "CrossValidation",
        "Fixed",
        "FixedSteps",
        "Lepski",
        "Oracle",
        "Rate",
        "Renoise",
        "Selection",
        "StepRate",
    ),
    "stream": ("Stream",),
    "thinning": ("Thinned",),
    "subspace": ("Subspace",),
    "windows": ("Cubic", "FlatTop", "Gaussian", "Sinc"),
}
METHODS = ("fit", "partial_fit", "predict", "predict_proba", "score", "transform")
PLAIN = "biuf"  # kinds of arrays that hold numbers and nothing else


class UnsavableError(TypeError):
    """A value has a part that no file can hold, such as a function."""


def encode(value: Any, place: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return a value as JSON, and add its arrays to those given.

    Parameters
    ----------
    value : object
        A number, text, array, law, frozen value or estimator, or a list, tuple or dict of such.
    place : str
        Where it stands in what is saved: the name of its arrays, and the word of errors.
    arrays : dict
        Arrays by name, which grows.

    Examples
    --------
    >>> from noisykmeans.noise import Laplace
    >>> encode(Laplace((0, 1)), "law", {})
    {'class': 'noise.Laplace', 'values': {'scale': {'tuple': [0, 1]}}}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    for kind, write in _WRITERS.items():
        if isinstance(value, kind):
            return write(value, place, arrays)
    return _object(value, place, arrays)


def _float(value: float, place: str, arrays: dict[str, NDArray[Any]]) -> Any:
    del place, arrays
    return value if np.isfinite(value) else {"float": repr(value)}


def _list(value: list[Any], place: str, arrays: dict[str, NDArray[Any]]) -> Any:
    return [encode(item, f"{place}.{i}", arrays) for i, item in enumerate(value)]


def _tuple(value: tuple[Any, ...], place: str, arrays: dict[str, NDArray[Any]]) -> Any:
    return {"tuple": _list(list(value), place, arrays)}


def _dict(value: dict[str, Any], place: str, arrays: dict[str, NDArray[Any]]) -> Any:
    if not all(isinstance(key, str) for key in value):
        raise UnsavableError(f"{place} has keys that are no text, and cannot be saved: {value!r}")
    return {"dict": _each(value, place, arrays)}


def _random_state(value: np.random.RandomState, place: str, arrays: dict[str, NDArray[Any]]) -> Any:
    return {"RandomState": _list(list(value.get_state()), place, arrays)}


def _metadata(value: MetadataRequest, place: str, arrays: dict[str, NDArray[Any]]) -> Any:
    asked = {m: getattr(value, m).requests for m in METHODS if hasattr(value, m)}
    return {"routing": _dict(asked, place, arrays)}


def _each(values: Mapping[str, Any], place: str, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    return {
        name: encode(value, f"{place}.{name}" if place else name, arrays)
        for name, value in values.items()
    }


def _array(value: NDArray[Any], place: str, arrays: dict[str, NDArray[Any]]) -> Any:
    if value.dtype.kind == "O" and all(isinstance(item, str) for item in value.ravel()):
        return {"strings": value.tolist()}
    if value.dtype.kind not in PLAIN:
        raise UnsavableError(f"{place} is an array of {value.dtype}, and only numbers can be saved")
    arrays[place] = value
    return {"array": place}


_WRITERS: dict[type, Callable[[Any, str, dict[str, NDArray[Any]]], Any]] = {
    float: _float,
    np.ndarray: _array,
    list: _list,
    tuple: _tuple,
    dict: _dict,
    np.random.RandomState: _random_state,
    MetadataRequest: _metadata,
}


def _object(value: Any, place: str, arrays: dict[str, NDArray[Any]]) -> Any:
    kind = type(value)
    module = kind.__module__.split(".")
    tag = f"{module[1]}.{kind.__name__}" if module[0] == "noisykmeans" and module[1:] else ""
    space, _, name = tag.partition(".")
    known = name in CLASSES.get(space, ()) and _class(space, name) is kind
    if known and isinstance(value, Noise):
        return {"class": tag, "values": _each(value.get_params(deep=False), place, arrays)}
    if known and is_dataclass(value):
        parts = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        return {"class": tag, "values": _each(parts, place, arrays)}
    if known:
        parts = value.get_params(deep=False)
        state = {n: v for n, v in vars(value).items() if n not in parts and not is_collection(v)}
        fitted = _each(state, place, arrays)
        return {"class": tag, "values": _each(parts, place, arrays), "fitted": fitted}
    place = place or "it"
    if isinstance(value, Noise):
        raise UnsavableError(
            f"{place} is {value!r}, a law made of functions, and functions cannot be saved: use a "
            f"law of noisykmeans.noise with parameters, such as noise.Empirical of errors drawn "
            f"from it"
        )
    what = "a function" if callable(value) else f"of type {kind.__name__}"
    raise UnsavableError(
        f"{place}={value!r} is {what}, and cannot be saved: give a number, an array, a text or an "
        f"object of noisykmeans"
    )


def decode(value: Any, array: Callable[[str], NDArray[Any]]) -> Any:
    """Return the value that JSON and arrays stand for.

    Parameters
    ----------
    value : object
        What `encode` returned.
    array : callable
        Returns the array of a name.
    """
    if isinstance(value, list):
        return [decode(item, array) for item in value]
    if not isinstance(value, dict):
        return value
    (kind, content), *rest = value.items()
    if kind == "class":
        return _made(content, dict(rest), array)
    if kind == "array":
        return array(content)
    if kind == "dict":
        return {str(key): decode(item, array) for key, item in content.items()}
    return _READERS[kind](content if kind == "strings" else decode(content, array))


def _state(parts: list[Any]) -> np.random.RandomState:
    state = np.random.RandomState()
    state.set_state(tuple(parts))
    return state


def _routing(asked: dict[str, dict[str, Any]]) -> MetadataRequest:
    """Return what a model asks of scikit-learn's metadata routing."""
    routing = MetadataRequest("NoisyKMeans")
    for method, requests in asked.items():
        for param, alias in requests.items():
            getattr(routing, method).add_request(param=param, alias=alias)
    return routing


_READERS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "strings": lambda items: np.array(items, dtype=object),
    "tuple": tuple,
    "RandomState": _state,
    "routing": _routing,
}


def _made(tag: str, parts: dict[str, Any], array: Callable[[str], NDArray[Any]]) -> Any:
    space, _, name = tag.partition(".")
    if name not in CLASSES.get(space, ()):
        raise ValueError(f"it has a part of the unknown kind {tag!r}")
    values = {key: decode(item, array) for key, item in parts["values"].items()}
    made = _class(space, name)(**values)
    if "fitted" in parts:
        vars(made).update({key: decode(item, array) for key, item in parts["fitted"].items()})
    return made


def _class(space: str, name: str) -> Any:
    return getattr(import_module(f"noisykmeans.{space}"), name)
