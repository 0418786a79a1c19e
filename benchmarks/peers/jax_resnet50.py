"""ResNet-50 in JAX, on a GPU: jax_resnet50.py BATCH PRECISION; see bursts.py."""
import functools
import json
import sys

import jax
import jax.numpy as jnp
from jax import lax

import bursts


class Parameters:
    """Creates random filters of a dtype."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.keys = iter(jax.random.split(jax.random.PRNGKey(0), 200))

    def weights(self, height, width, inputs, outputs):
        scale = (2.0 / (height * width * inputs)) ** 0.5
        return (jax.random.normal(next(self.keys), (height, width, inputs, outputs)) * scale).astype(self.dtype)

    def layer(self, size, inputs, outputs):
        """Returns filters, scale and shift."""
        return self.weights(size, size, inputs, outputs), jnp.ones(outputs, self.dtype), jnp.zeros(outputs, self.dtype)

    def network(self):
        """Returns all weights of ResNet-50, and the strides of its blocks."""
        blocks, strides, inputs = [], [], 64
        for stage, (count, width) in enumerate([(3, 64), (4, 128), (6, 256), (3, 512)]):
            for i in range(count):
                block = {"a": self.layer(1, inputs, width), "b": self.layer(3, width, width),
                         "c": self.layer(1, width, 4 * width)}
                if i == 0:
                    block["d"] = self.layer(1, inputs, 4 * width)
                blocks.append(block)
                strides.append(2 if i == 0 and stage > 0 else 1)
                inputs = 4 * width
        return {"stem": self.layer(7, 3, 64), "blocks": blocks, "fc": self.weights(1, 1, 2048, 1000)[0, 0]}, strides


def network(strides, exact, parameters, x):
    def apply(x, layer, stride, padding):
        filters, scale, shift = layer
        y = lax.conv_general_dilated(x, filters, (stride, stride), [(padding, padding)] * 2,
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"), precision=exact)
        return y * scale + shift

    x = jax.nn.relu(apply(x, parameters["stem"], 2, 3))
    x = lax.reduce_window(x, jnp.array(-jnp.inf, x.dtype), lax.max, (1, 3, 3, 1), (1, 2, 2, 1),
                          ((0, 0), (1, 1), (1, 1), (0, 0)))
    for block, stride in zip(parameters["blocks"], strides):
        y = jax.nn.relu(apply(x, block["a"], 1, 0))
        y = jax.nn.relu(apply(y, block["b"], stride, 1))
        y = apply(y, block["c"], 1, 0)
        x = jax.nn.relu(y + (apply(x, block["d"], stride, 0) if "d" in block else x))
    x = jnp.mean(x, (1, 2), dtype=jnp.float32).astype(x.dtype)
    return jax.nn.softmax(jnp.matmul(x, parameters["fc"], precision=exact).astype(jnp.float32))


def memory():
    peak = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use")
    if peak is None:
        return {}
    return {"peak_bytes": peak, "how": "peak_bytes_in_use of the process, with its choice of kernels: no reset"}


def main(batch, precision):
    bursts.await_turn()
    dtype = {"fp16": jnp.float16, "bf16": jnp.bfloat16}.get(precision, jnp.float32)
    exact = lax.Precision.HIGHEST if precision == "fp32" else lax.Precision.DEFAULT
    parameters, strides = Parameters(dtype).network()
    model = jax.jit(functools.partial(network, strides, exact))
    image = jax.random.normal(jax.random.PRNGKey(1), (int(batch), 224, 224, 3)).astype(dtype)

    def run():
        model(parameters, image).block_until_ready()

    for _ in range(5):
        run()
    bursts.serve(run, json.dumps(memory()))


if __name__ == "__main__":
    main(*sys.argv[1:])
