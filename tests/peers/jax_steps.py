"""Peer: training steps of JAX in one process (serve.py): layers "flatten, dense N, relu, ..." only. The whole step,
sampling included, is one compiled function whose weights are donated."""
import sys
sys.dont_write_bytecode = True
import jax, jax.numpy as jnp

from serve import serve, widths


def build(question):
    key = jax.random.PRNGKey(1)
    features = 1
    for extent in question["shape"]:
        features *= extent
    x = jax.random.uniform(key, (question["samples"], features), jnp.float32)
    y = jax.random.randint(key, (question["samples"],), 0, question["classes"])
    sizes = [features, *widths(question["layers"])]
    weights = [(jax.random.normal(key, (a, b), jnp.float32) / a ** 0.5, jnp.zeros(b)) for a, b in zip(sizes, sizes[1:])]
    momentum = jax.tree.map(jnp.zeros_like, weights)
    half = question["setting"]["precision"] == "bfloat16"

    def loss(weights, images, labels):
        for i, (w, b) in enumerate(weights):
            if half:
                images = jnp.dot(images.astype(jnp.bfloat16), w.astype(jnp.bfloat16), preferred_element_type=jnp.float32) + b
            else:
                images = images @ w + b
            images = jax.nn.relu(images) if i + 1 < len(weights) else images
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(images), labels[:, None], axis=1))

    def step(weights, momentum, key):
        key, mine = jax.random.split(key)
        chosen = jax.random.randint(mine, (question["batch"],), 0, len(x))
        gradient = jax.grad(loss)(weights, x[chosen], y[chosen])
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradient)
        return jax.tree.map(lambda w, m: w - 1e-4 * m, weights, momentum), momentum, key

    compiled = jax.jit(step, donate_argnums=(0, 1))
    state = [weights, momentum, key]

    def run(steps):
        for _ in range(steps):
            state[:] = compiled(*state)
        jax.block_until_ready(state)

    return run


if __name__ == "__main__":
    serve(build)
