#include "graph/passes/pass.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// A pass that replaces no weights.
template <absl::StatusOr<Graph> (*kRun)(const Graph&, const OperatorTable&)>
absl::StatusOr<Graph> Keeping(const Graph& graph, const OperatorTable& operators,
                              const ReplacedListener&) {
  return kRun(graph, operators);
}

constexpr Pass kPasses[] = {
    {"fold_constants", "evaluate what depends on constants and shapes alone",
     Keeping<FoldConstants>},
    {"fold_scale", "batch norm and other channel-wise scales into weights", FoldScale},
    {"fuse", "convolution + bias + residual + activation as one operator", Keeping<Fuse>},
    {"layout", "images in NCHW16c, relayout at the borders", Keeping<AssignLayout>},
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

}  // namespace ashlar
