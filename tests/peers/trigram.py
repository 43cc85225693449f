#!/usr/bin/env python3
"""Loss of an interpolated Witten-Bell 3-gram of bytes, in nats a token: what a language model has to beat.

    tests/peers/trigram.py FILE [--lines] [--test-fraction 0.2] [--eval-tokens 131072]

With --lines the lines are shuffled first (by another order than hogring's, which changes little). Held out is the end.
Witten and Bell, "The zero-frequency problem", IEEE Transactions on Information Theory 37 (1991):
    p(w | h) = (c(h w) + t(h) p(w | h')) / (c(h) + t(h)), t(h) the kinds that followed h, h' one byte shorter.
"""
import argparse
import collections
import math
import random


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("--test-fraction", type=float, default=0.2)
    parser.add_argument("--eval-tokens", type=int, default=131072)
    asked = parser.parse_args()
    text = open(asked.file, "rb").read()
    if asked.lines:
        lines = text.splitlines(keepends=True)
        random.Random(0).shuffle(lines)
        text = b"".join(lines)
    at = len(text) - round(asked.test_fraction * len(text))
    train, test = text[:at], text[at:at + asked.eval_tokens + 1]
    order = 3
    counts = [collections.defaultdict(collections.Counter) for _ in range(order)]
    for i in range(len(train)):
        for n in range(order):
            if i >= n:
                counts[n][train[i - n:i]][train[i]] += 1

    def probability(history, byte):
        p = 1 / 256
        for n in range(min(order - 1, len(history)) + 1):
            after = counts[n].get(history[len(history) - n:])
            if after:
                total, kinds = sum(after.values()), len(after)
                p = (after[byte] + kinds * p) / (total + kinds)
        return p

    cache = {}
    loss = 0
    for i in range(1, len(test)):
        key = test[max(0, i - order + 1):i + 1]
        if key not in cache:
            cache[key] = -math.log(probability(key[:-1], key[-1]))
        loss += cache[key]
    print(f"{loss / (len(test) - 1):.4f} nats a byte, perplexity {math.exp(loss / (len(test) - 1)):.2f}, "
          f"{len(test) - 1} bytes after {len(train)}")


main()
