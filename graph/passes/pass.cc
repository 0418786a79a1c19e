#include "graph/passes/pass.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/status.h"

namespace ashlar {
namespace {

using Rewrite = absl::StatusOr<Graph> (*)(const Graph&, const OperatorTable&);

template <Rewrite rewrite>
absl::StatusOr<Graph> Run(const Graph& graph, const PassContext& context) {
  return rewrite(graph, context.operators);
}

absl::StatusOr<Graph> RunRecognise(const Graph& graph, const PassContext& context) {
  return Recognise(graph, context.operators, context.has_kernel);
}

absl::StatusOr<Graph> RunFoldScale(const Graph& graph, const PassContext& context) {
  return FoldScale(graph, context.operators);
}

absl::StatusOr<Graph> RunPrecision(const Graph& graph, const PassContext& context) {
  return AssignPrecision(graph, context.operators, context.precision);
}

absl::StatusOr<Graph> RunLayout(const Graph& graph, const PassContext& context) {
  return AssignLayout(graph, context.operators, context.image_format, context.reads_planes);
}

bool RunsChains(const PassContext& context) { return context.chains; }

bool AddsQuantized(const PassContext& context) { return context.quantized_sums; }

bool IsLowPrecision(const PassContext& context) { return context.precision != DType::kFloat32; }

constexpr Pass kPasses[] = {
    {"fold_constants", "evaluate what depends on constants and shapes alone", Run<FoldConstants>,
     nullptr},
    {"recognise", "layer norm, attention and activations that exporters took apart", RunRecognise,
     nullptr},
    {"fold_scale", "batch norm and other channel-wise scales into weights", RunFoldScale, nullptr},
    {"fuse", "convolution + bias + residual + activation as one operator", Run<Fuse>, nullptr},
    {"sum", "sums of 8 bits as a part of the convolution before them, on a CPU",
     Run<FuseQuantizedSums>, AddsQuantized},
    {"clamp", "bounds after convolutions, applied by the depthwise one that reads them, on a GPU",
     Run<MoveClamps>, RunsChains},
    {"chain", "scalar functions, products and biases in one kernel, on a GPU", Run<Chain>,
     RunsChains},
    {"precision", "16-bit floats if requested, with casts at the borders", RunPrecision,
     IsLowPrecision},
    {"layout", "images in the device's format, relayout at the borders", RunLayout, nullptr},
};

}  // namespace

absl::Span<const Pass> AllPasses() { return kPasses; }

absl::StatusOr<std::vector<Pass>> SelectPasses(absl::string_view list) {
  const std::vector<Pass> all(std::begin(kPasses), std::end(kPasses));
  if (list == "all") return all;
  if (list == "none") return std::vector<Pass>();
  const std::vector<std::string> names = absl::StrSplit(list, ',');
  std::vector<Pass> selected;
  for (const std::string& name : names) {
    const bool known = std::any_of(all.begin(), all.end(), [&](auto& p) { return p.name == name; });
    if (known) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown pass '", name.substr(0, 64), "'; expected all, none or a list of ",
        absl::StrJoin(all, ", ", [](std::string* out, const Pass& p) { out->append(p.name); })));
  }
  for (const Pass& pass : all) {
    if (std::find(names.begin(), names.end(), pass.name) != names.end()) selected.push_back(pass);
  }
  return selected;
}

absl::StatusOr<std::string> PassesWithout(absl::string_view list, absl::string_view name) {
  ASHLAR_ASSIGN_OR_RETURN(std::vector<Pass> passes, SelectPasses(list));
  std::erase_if(passes, [&](const Pass& pass) { return pass.name == name; });
  if (passes.empty()) return "none";
  return absl::StrJoin(passes, ",", [](std::string* out, const Pass& p) { out->append(p.name); });
}

}  // namespace ashlar
