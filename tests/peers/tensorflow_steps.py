"""Peer: training steps of TensorFlow in one process, one thread (serve.py): layers "flatten, dense N, relu, ..." only.
The step is one tf.function; setting "compile": by XLA."""
import os, sys
sys.dont_write_bytecode = True
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tensorflow as tf

from serve import serve, widths


def build(question):
    setting, features = question["setting"], 1
    for extent in question["shape"]:
        features *= extent
    x = tf.random.uniform((question["samples"], features))
    y = tf.random.uniform((question["samples"],), maxval=question["classes"], dtype=tf.int32)
    sizes = [features, *widths(question["layers"])]
    weights = [tf.Variable(v) for a, b in zip(sizes, sizes[1:]) for v in (tf.random.normal((a, b)) / a ** 0.5, tf.zeros(b))]
    momentum = [tf.Variable(tf.zeros_like(w)) for w in weights]
    half = setting["precision"] == "bfloat16"

    def forward(images):
        for i in range(0, len(weights), 2):
            if half:
                images = tf.cast(tf.matmul(tf.cast(images, tf.bfloat16), tf.cast(weights[i], tf.bfloat16)), tf.float32)
            else:
                images = tf.matmul(images, weights[i])
            images = images + weights[i + 1]
            images = tf.nn.relu(images) if i + 2 < len(weights) else images
        return images

    @tf.function(jit_compile=setting["compile"])
    def step(chosen):
        images, labels = tf.gather(x, chosen), tf.gather(y, chosen)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, forward(images)))
        for w, m, g in zip(weights, momentum, tape.gradient(loss, weights)):
            m.assign(0.9 * m + g)
            w.assign_sub(1e-4 * m)
        return loss

    def run(steps):
        for _ in range(steps):
            loss = step(tf.random.uniform((question["batch"],), maxval=len(x), dtype=tf.int32))
        loss.numpy()

    return run


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    serve(build)
