#!/usr/bin/env python3
"""Exports PyTorch models and layers to ONNX, with complete seeded weights, by both exporters.

    pip install torch torchvision onnx onnxscript    (and transformers: bert_base, minilm_l6)
    benchmarks/export_models.py --list
    benchmarks/export_models.py resnet50 lraspp layers -o models [--exporter dynamo ts]
                                [--opset 13 17] [--dynamic]
    benchmarks/compare_onnxruntime.py models/*.onnx

A name is one of the catalogue below, any model of torchvision (`torchvision.models.list_models()`),
or "layers" for all layers of the catalogue. Files are named NAME.EXPORTER[_OPSET][_dynamic].onnx
and contain their weights. A model that PyTorch cannot export is reported, and the others continue:
exit code 1.
"""
import argparse
import contextlib
import io
import pathlib
import sys
import warnings

import torch
import torchvision
from torch import nn
from torchvision.models import detection, get_model, list_models, segmentation, video


class Part(nn.Module):
    """Applies `compute` to `inner` and the inputs: a model's head without its post-processing, or a
    layer.
    """

    def __init__(self, inner, compute):
        super().__init__()
        self.inner, self.compute = inner, compute

    def forward(self, *inputs):
        return self.compute(self.inner, *inputs)


def detector(build, *arguments):
    """Feature pyramid and head of a detector; boxes are computed outside of the graph."""
    def compute(model, x):
        heads = model.head(list(model.backbone(x).values()))
        return tuple(heads[name] for name in sorted(heads))
    return lambda: Part(build(weights=None, weights_backbone=None, *arguments), compute)


def segmenter(name):
    return lambda: Part(getattr(segmentation, name)(weights=None, weights_backbone=None), lambda m, x: m(x)["out"])


def only_inner(build, compute=lambda inner, *inputs: inner(*inputs)):
    return lambda: Part(build(), compute)


def function(compute):
    return lambda: Part(nn.Identity(), lambda _, *inputs: compute(*inputs))


def recurrent(kind, **settings):
    def compute(inner, x):
        y, state = inner(x)
        return (y, *state) if isinstance(state, tuple) else (y, state)
    return lambda: Part(kind(12, 20, **settings), compute)


def attention(**settings):
    return lambda: Part(nn.MultiheadAttention(32, 4, batch_first=True, **settings), lambda m, x: m(x, x, x)[0])


def upsample(**settings):
    return only_inner(lambda: nn.Upsample(**settings))


def text_encoder(**settings):
    """An encoder of the `transformers` package over tokens, which the inputs stand for."""
    def make():
        from transformers import BertConfig, BertModel
        return BertModel(BertConfig(**settings), add_pooling_layer=False)

    def compute(model, x):
        return model(input_ids=(x.abs() * 3000).long() % model.config.vocab_size).last_hidden_state
    return lambda: Part(make(), compute)


F = nn.functional
IMAGE, SEQUENCE, SIGNAL, VOLUME = (1, 6, 13, 17), (1, 9, 12), (1, 6, 31), (1, 4, 7, 9, 11)
TOKENS = (1, 10, 32)

# By name: the function that builds it, the shapes of its inputs.
MODELS = {
    "lraspp": (segmenter("lraspp_mobilenet_v3_large"), [(1, 3, 200, 264)]),
    "deeplabv3_resnet50": (segmenter("deeplabv3_resnet50"), [(1, 3, 160, 224)]),
    "fcos_core": (detector(detection.fcos_resnet50_fpn), [(1, 3, 224, 288)]),
    "retinanet_v2_core": (detector(detection.retinanet_resnet50_fpn_v2), [(1, 3, 224, 288)]),
    "ssd300_core": (detector(detection.ssd300_vgg16), [(1, 3, 300, 300)]),
    "s3d": (lambda: video.s3d(weights=None), [(1, 3, 32, 224, 224)]),
    "mc3_18": (lambda: video.mc3_18(weights=None), [(1, 3, 8, 88, 104)]),
    "r2plus1d_18": (lambda: video.r2plus1d_18(weights=None), [(1, 3, 8, 80, 80)]),
    "mvit_v1_b": (lambda: video.mvit_v1_b(weights=None), [(1, 3, 16, 224, 224)]),
    "bert_base": (text_encoder(), [(1, 128)]),
    "minilm_l6": (text_encoder(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536),
                  [(1, 128)]),
    "swin3d_t": (lambda: video.swin3d_t(weights=None), [(1, 3, 8, 64, 96)]),
}
LAYERS = {
    "lstm": (recurrent(nn.LSTM), [SEQUENCE]),
    "lstm_two_layers": (recurrent(nn.LSTM, num_layers=2, bidirectional=True, batch_first=True), [(2, 9, 12)]),
    "lstm_projection": (recurrent(nn.LSTM, proj_size=8), [SEQUENCE]),
    "gru": (recurrent(nn.GRU), [SEQUENCE]),
    "gru_two_layers": (recurrent(nn.GRU, num_layers=2, bidirectional=True, batch_first=True), [(2, 9, 12)]),
    "gru_no_bias": (recurrent(nn.GRU, bias=False), [SEQUENCE]),
    "rnn": (recurrent(nn.RNN), [SEQUENCE]),
    "rnn_relu": (recurrent(nn.RNN, nonlinearity="relu", bidirectional=True), [SEQUENCE]),
    "gru_cell": (only_inner(lambda: nn.GRUCell(12, 20)), [(3, 12)]),
    "attention": (attention(), [TOKENS]),
    "attention_kv_bias": (attention(add_bias_kv=True), [TOKENS]),
    "transformer_encoder": (only_inner(lambda: nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)), [TOKENS]),
    "transformer_decoder": (only_inner(lambda: nn.TransformerDecoderLayer(32, 4, 64, norm_first=True)),
                            [(5, 1, 32), (7, 1, 32)]),
    "sdpa_causal": (function(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)),
                    [(1, 2, 7, 8)] * 3),
    "sdpa_mask": (function(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m)),
                  [(1, 2, 7, 8)] * 3 + [(7, 7)]),
    "upsample_nearest": (upsample(scale_factor=2), [IMAGE]),
    "upsample_nearest_fraction": (upsample(scale_factor=1.7), [IMAGE]),
    "upsample_nearest_size": (upsample(size=(20, 23)), [IMAGE]),
    "upsample_bilinear": (upsample(scale_factor=1.5, mode="bilinear"), [IMAGE]),
    "upsample_bilinear_corners": (upsample(size=(27, 31), mode="bilinear", align_corners=True), [IMAGE]),
    "upsample_bilinear_down": (upsample(scale_factor=0.6, mode="bilinear"), [IMAGE]),
    "upsample_bicubic": (upsample(scale_factor=2, mode="bicubic"), [IMAGE]),
    "upsample_linear_1d": (upsample(scale_factor=2, mode="linear"), [SIGNAL]),
    "upsample_nearest_3d": (upsample(scale_factor=2), [VOLUME]),
    "upsample_trilinear": (upsample(scale_factor=2, mode="trilinear"), [VOLUME]),
    "interpolate_antialias": (function(lambda x: F.interpolate(x, (8, 9), mode="bilinear", antialias=True)), [IMAGE]),
    "interpolate_recompute": (function(lambda x: F.interpolate(x, scale_factor=1.3, mode="bilinear",
                                                               recompute_scale_factor=True)), [IMAGE]),
    "pixel_shuffle": (only_inner(lambda: nn.PixelShuffle(2)), [(1, 8, 5, 7)]),
    "pixel_unshuffle": (only_inner(lambda: nn.PixelUnshuffle(2)), [(1, 3, 6, 10)]),
    "channel_shuffle": (only_inner(lambda: nn.ChannelShuffle(3)), [IMAGE]),
    "adaptive_avg": (only_inner(lambda: nn.AdaptiveAvgPool2d((1, 1))), [IMAGE]),
    "adaptive_avg_even": (only_inner(lambda: nn.AdaptiveAvgPool2d((3, 4))), [(1, 6, 12, 16)]),
    "adaptive_avg_odd": (only_inner(lambda: nn.AdaptiveAvgPool2d((5, 7))), [IMAGE]),
    "adaptive_max_even": (only_inner(lambda: nn.AdaptiveMaxPool2d((3, 4))), [(1, 6, 12, 16)]),
    "adaptive_avg_1d": (only_inner(lambda: nn.AdaptiveAvgPool1d(1)), [SIGNAL]),
    "adaptive_avg_3d": (only_inner(lambda: nn.AdaptiveAvgPool3d(1)), [VOLUME]),
    "group_norm": (only_inner(lambda: nn.GroupNorm(3, 6)), [IMAGE]),
    "instance_norm": (only_inner(lambda: nn.InstanceNorm2d(6, affine=True)), [IMAGE]),
    "instance_norm_1d": (only_inner(lambda: nn.InstanceNorm1d(6)), [SIGNAL]),
    "layer_norm_2d": (only_inner(lambda: nn.LayerNorm([6, 13, 17])), [IMAGE]),
    "batch_norm_1d": (only_inner(lambda: nn.BatchNorm1d(6)), [(3, 6)]),
    "batch_norm_3d": (only_inner(lambda: nn.BatchNorm3d(4)), [VOLUME]),
    "rms_norm": (only_inner(lambda: nn.RMSNorm(32)), [TOKENS]),
    "local_response_norm": (only_inner(lambda: nn.LocalResponseNorm(3)), [IMAGE]),
    "conv_1d": (only_inner(lambda: nn.Conv1d(6, 8, 5, stride=2, padding=3, dilation=2)), [SIGNAL]),
    "conv_3d": (only_inner(lambda: nn.Conv3d(4, 6, (2, 3, 3), stride=(1, 2, 1), padding=1, groups=2)), [VOLUME]),
    "conv_reflect": (only_inner(lambda: nn.Conv2d(6, 8, 3, padding=1, padding_mode="reflect")), [IMAGE]),
    "conv_circular": (only_inner(lambda: nn.Conv2d(6, 8, 3, padding=1, padding_mode="circular")), [IMAGE]),
    "conv_same": (only_inner(lambda: nn.Conv2d(6, 8, (4, 3), padding="same", dilation=2)), [IMAGE]),
    "conv_transpose_1d": (only_inner(lambda: nn.ConvTranspose1d(6, 4, 5, 3, 1, output_padding=2)), [SIGNAL]),
    "conv_transpose": (only_inner(lambda: nn.ConvTranspose2d(6, 4, 3, 2, 1, output_padding=1)), [IMAGE]),
    "conv_transpose_groups": (only_inner(lambda: nn.ConvTranspose2d(6, 6, (4, 3), (2, 3), 1, output_padding=(0, 1),
                                                                    groups=3, dilation=(1, 2))), [IMAGE]),
    "conv_transpose_3d": (only_inner(lambda: nn.ConvTranspose3d(4, 3, 3, 2, 1, output_padding=1)), [VOLUME]),
    "unfold": (only_inner(lambda: nn.Unfold(3, padding=1, stride=2)), [IMAGE]),
    "fold": (only_inner(lambda: nn.Fold((8, 10), 2, stride=2)), [(1, 12, 20)]),
    "max_pool_ceil": (only_inner(lambda: nn.MaxPool2d(3, 2, 1, ceil_mode=True)), [IMAGE]),
    "max_pool_dilated": (only_inner(lambda: nn.MaxPool2d(3, 1, dilation=2)), [IMAGE]),
    "avg_pool_ceil": (only_inner(lambda: nn.AvgPool2d(3, 2, 1, ceil_mode=True)), [IMAGE]),
    "avg_pool_no_pad": (only_inner(lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False)), [IMAGE]),
    "avg_pool_3d": (only_inner(lambda: nn.AvgPool3d(2)), [VOLUME]),
    "max_pool_1d": (only_inner(lambda: nn.MaxPool1d(3, 2)), [SIGNAL]),
    "lp_pool": (only_inner(lambda: nn.LPPool2d(2, 3)), [IMAGE]),
    "max_unpool": (function(lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)), [(1, 4, 8, 6)]),
    "activations": (function(lambda x: torch.cat([f(x) for f in (
        F.relu6, F.silu, F.hardswish, F.hardsigmoid, F.mish, F.elu, F.selu, F.celu, F.softplus, F.softsign,
        F.leaky_relu, F.gelu, F.hardtanh, F.logsigmoid, F.tanhshrink, F.softshrink, F.hardshrink, torch.tanh)])),
                    [IMAGE]),
    "glu": (only_inner(lambda: nn.GLU(1)), [IMAGE]),
    "prelu": (only_inner(lambda: nn.PReLU(6)), [IMAGE]),
    "softmax_2d": (only_inner(lambda: nn.Softmax2d()), [IMAGE]),
    "embedding": (only_inner(lambda: nn.Embedding(40, 16), lambda m, x: m((x.abs() * 10).long() % 40)), [(2, 7)]),
    "bilinear": (only_inner(lambda: nn.Bilinear(5, 6, 4)), [(3, 5), (3, 6)]),
    "cosine_similarity": (only_inner(lambda: nn.CosineSimilarity()), [IMAGE, IMAGE]),
    "reductions": (function(lambda x: torch.stack([x.std((2, 3)), x.var((2, 3)), x.amax((2, 3)), x.norm(dim=(2, 3)),
                                                   x.logsumexp((2, 3)), x.prod(3).prod(2)])), [IMAGE]),
    "order": (function(lambda x: (x.sort(-1).values, x.topk(3, 1)[1], x.argmax(2), x.cumsum(1), x.flip(3))), [IMAGE]),
    "roll_pad": (function(lambda x: F.pad(torch.roll(x, (2, 3), (2, 3)), (1, 2, 0, 3), value=0.5)), [IMAGE]),
    "pad_modes": (function(lambda x: (F.pad(x, (1, 2, 3, 1), "replicate"), F.pad(x, (1, 2, 3, 1), "reflect"),
                                      F.pad(x, (-1, 2, 0, -3)))), [IMAGE]),
    "indexing": (function(lambda x: (x[:, ::2, 1:-1, -3:], x[:, [0, 3, 1]], x[..., None].squeeze(0), x.unfold(3, 4, 3),
                                     x.masked_fill(x > 0.5, -1.0), torch.where(x < 0, x * 2, x))), [IMAGE]),
    "write": (function(lambda x: torch.cat([x.clone().index_fill(1, torch.tensor([1, 4]), 2.0),
                                            x.scatter(1, torch.zeros_like(x[:, :1]).long() + 2, 3.0)])), [IMAGE]),
    "products": (function(lambda a, b: (torch.einsum("bchw,bdhw->bcd", a, b), torch.einsum("bchw,bdhw->bhwcd", a, b),
                                        a.flatten(1) @ b.flatten(1).T, torch.baddbmm(a[0], a[0], a[0].transpose(1, 2) @ b[0]))),
                 [(1, 6, 9, 9), (1, 6, 9, 9)]),
    "arithmetic": (function(lambda x: torch.cat([x.round(), x.ceil(), x.floor(), x.trunc(), x.frac(), x.sign(),
                                                 x % 0.3, x // 0.3, x.fmod(0.3), x.clamp(-0.5, 0.5), x.abs().pow(1.5),
                                                 x.abs().rsqrt(), x.exp().log1p(), x.expm1(), x.erf(), x.atan(),
                                                 x.sin() + x.cos(), torch.atan2(x, x + 0.1), x.sinh(), x.tan()])),
                   [IMAGE]),
    "grid_sample": (function(lambda x, g: (F.grid_sample(x, g, align_corners=False), F.grid_sample(
        x, g, mode="nearest", padding_mode="border", align_corners=True))), [IMAGE, (1, 5, 7, 2)]),
    "affine_grid": (function(lambda t: F.affine_grid(t, (1, 3, 6, 8), align_corners=False)), [(1, 2, 3)]),
    "meshgrid": (function(lambda x: x + torch.stack(torch.meshgrid(torch.arange(x.shape[2]), torch.arange(x.shape[3]),
                                                                   indexing="ij"))[None].float().sum(1, True)), [IMAGE]),
    "integers": (function(lambda x: ((x * 10).long() // 3, (x * 10).long() % 3, (x * 10).int() & 3, (x * 9).to(torch.uint8),
                                     (x * 10).int() << 2, (x > 0) ^ (x < 0.5))), [IMAGE]),
    "one_hot": (function(lambda x: F.one_hot(x.argmax(1), 6).float()), [IMAGE]),
    "complex_norm": (function(lambda x: torch.linalg.vector_norm(x, ord=3, dim=1)), [IMAGE]),
    "cdist": (function(lambda a, b: torch.cdist(a, b)), [(1, 5, 4), (1, 6, 4)]),
    "tril": (function(lambda x: (x.tril(1), x.triu(-2), x.diagonal(dim1=2, dim2=3))), [IMAGE]),
}


def build(name):
    """Returns the seeded model and its inputs; statistics of batch norms are no longer zeros and
    ones.
    """
    torch.manual_seed(sum(name.encode()))
    if name in MODELS or name in LAYERS:
        make, shapes = {**MODELS, **LAYERS}[name]
        model = make()
    else:
        weights = {"weights": None, **({"aux_logits": False, "init_weights": False} if name == "googlenet" else {})}
        model, shapes = get_model(name, **weights), [(1, 3, 224, 224)]
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_var is not None:
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
        if getattr(module, "weight", None) is not None and "Norm" in type(module).__name__:
            nn.init.uniform_(module.weight, 0.5, 1.5)
            if getattr(module, "bias", None) is not None:
                nn.init.normal_(module.bias, 0, 0.1)
    for weights in model.parameters():
        # A head initialised with zeros, whose outputs would prove nothing.
        if weights.dim() > 1 and not weights.any():
            nn.init.normal_(weights, 0, 0.02)
    return model.eval(), tuple(torch.randn(shape) for shape in shapes)


def export(model, inputs, path, exporter, opset, dynamic):
    names = [f"input{i}" for i in range(len(inputs))]
    settings = {"input_names": names, **({"opset_version": opset} if opset else {})}
    printed = io.StringIO()  # hides graphs printed by exporters
    with torch.no_grad(), warnings.catch_warnings(), contextlib.redirect_stdout(printed), \
            contextlib.redirect_stderr(printed):
        warnings.simplefilter("ignore")
        if exporter == "ts":
            axes = {name: {0: "n"} for name in names} if dynamic else None
            torch.onnx.export(model, inputs, str(path), dynamo=False, dynamic_axes=axes, **settings)
        else:
            shapes = {"dynamic_shapes": (tuple({0: torch.export.Dim.DYNAMIC} for _ in inputs),)} if dynamic else {}
            torch.onnx.export(model, inputs, str(path), dynamo=True, external_data=False, verbose=False,
                              **shapes, **settings)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("models"))
    parser.add_argument("--exporter", nargs="+", choices=["dynamo", "ts"], default=["dynamo", "ts"])
    parser.add_argument("--opset", nargs="+", type=int, default=[0], help="0: the exporter's own")
    parser.add_argument("--dynamic", action="store_true", help="the first dimension is symbolic")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    if args.list:
        print("\n".join([*MODELS, *LAYERS, *list_models(module=torchvision.models)]))
        return
    # TorchScript's exporter does not support the fused layers.
    torch.backends.mha.set_fastpath_enabled(False)
    args.output.mkdir(parents=True, exist_ok=True)
    failed = []
    names = [layer for name in args.names for layer in (LAYERS if name == "layers" else [name])]
    for name in names:
        for exporter in args.exporter:
            for opset in args.opset:
                settings = (f"_{opset}" if opset else "") + ("_dynamic" if args.dynamic else "")
                path = args.output / f"{name}.{exporter}{settings}.onnx"
                try:
                    model, inputs = build(name)
                    export(model, inputs, path, exporter, opset, args.dynamic)
                    print(path, flush=True)
                except Exception as error:  # PyTorch's exporters raise any exception
                    failed.append(path.stem)
                    message = str(error).strip().splitlines() or [""]
                    print(f"{path.stem}: not exported: {type(error).__name__}: {message[0][:160]}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
