"""Data-parallel training on this machine: `compare` strategies, `train` a model, `load` one.

    import hogring
    table = hogring.compare(X, y, strategies=["allreduce", "hogwild"], epochs=5)
    run = hogring.train(X, y, model="flatten, dense 32, relu, dense 2", normalize=True)
    run.model.predict(X)

Every further keyword is an option of the command `hogring`, with _ for -.
`hogring.help("python")` prints the manual's page.
"""

from ._command import Error, help
from ._model import Model, load
from ._runs import Comparison, Run, compare, train

__all__ = ["Comparison", "Error", "Model", "Run", "compare", "help", "load", "train"]
