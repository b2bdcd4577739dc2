#!/bin/sh
# Attention over a sequence whose positions are all masked, in torch.
#
# Guess: scaled_dot_product_attention returns NaN, as a softmax over nothing does, and
# MultiheadAttention, which uses it, does too, whatever its other arguments.
# torch 2.13.0 on a CPU, 2026-11-28: scaled_dot_product_attention returns zeros. In
# MultiheadAttention.eval() the result depends on two things that have nothing to do
# with the mask: whether the weights are requested, and whether gradients are recorded.
# The other sequence of the batch is not affected.
#
#     scaled_dot_product_attention                  zeros
#     MultiheadAttention, grad,    need_weights     NaN
#     MultiheadAttention, grad,    no weights       zeros (plus the output bias)
#     MultiheadAttention, no_grad, need_weights     NaN
#     MultiheadAttention, no_grad, no weights       NaN
. "$(dirname "$0")/_run.sh"
run_with torch==2.13.0 numpy==2.4.6 <<'PROGRAM'
import torch

torch.manual_seed(0)
x = torch.randn(2, 3, 8)
empty = torch.tensor([[True] * 3, [False] * 3])


def describe(values):
    assert values[1].isfinite().all()
    if values[0].isnan().all():
        return "NaN"
    assert not values[0].any()  # the output bias is 0 at first
    return "zeros"


heads = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
mask = ~empty[:, None, :].expand(2, 3, 3)
product = torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)
found = {"scaled_dot_product_attention": describe(product)}
for grad in (True, False):
    for weights in (True, False):
        with torch.set_grad_enabled(grad):
            out = heads(x, x, x, key_padding_mask=empty, need_weights=weights)[0]
        found["grad" if grad else "no_grad", weights] = describe(out)
for name, value in found.items():
    print(name, value)
assert list(found.values()) == ["zeros", "NaN", "zeros", "NaN", "NaN"]
PROGRAM
