"""Ashlar on Ray: workers declare their memory before they start. pip install ashlar-runtime[ray]

    from ashlar_runtime.ray import Predictor, actor_options, app, fit, map_batches
    map_batches(ray.data.read_parquet("images"), "resnet50.ash", batch=8)  # batches: Ray Data
    serve.run(app("resnet50.ash", batch=[1, 2, 4, 8]))  # requests: Ray Serve, Inference Protocol
    ray.remote(Predictor).options(**actor_options("resnet50.ash")).remote("resnet50.ash")
"""
from ._data import map_batches
from ._fit import Fit, fit
from ._predictor import Predictor
from ._serve import app
from ._worker import actor_options, idle_worker

__all__ = ["Fit", "Predictor", "actor_options", "app", "fit", "idle_worker", "map_batches"]
