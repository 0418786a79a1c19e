#include "runtime/plan/record/packed_model.h"

#include <array>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/passes/pass.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// Increase it when kernels change their packing but not its key.
constexpr int kLayouts = 2;

// An option as text: its name, its value.
using Item = std::pair<const char*, std::string>;
// The last ones belong to the budget.
enum {
  kItemLayouts,
  kItemPasses,
  kItemExact,
  kItemPrefer,
  kItemInplace,
  kItemTile,
  kItemPrecision,
  kItemBudget,
  kItemExtraFlops,
  kItems
};

std::array<Item, kItems> ItemsOf(const PackingOptions& options) {
  const std::optional<MemoryBudget>& budget = options.budget;
  const bool limited = budget && budget->max_extra_flops != std::numeric_limits<double>::infinity();
  const auto text_of = [](int64_t bytes) { return bytes == 0 ? "min" : absl::StrCat(bytes); };
  return {{{"layouts", absl::StrCat(kLayouts)},
           {"passes", options.passes},
           {"exact", options.exact ? "on" : "off"},
           {"prefer", options.least_memory ? "memory" : "speed"},
           {"inplace", options.inplace ? "on" : "off"},
           {"tile", options.tiles.empty() ? "none" : options.tiles.ToString()},
           {"precision", std::string(Name(options.precision))},
           {"budget", budget ? text_of(budget->bytes) : "none"},
           {"max extra FLOPs", limited ? absl::StrCat(budget->max_extra_flops) : "any"}}};
}

// Sets `value` if the text is `on` or `off`.
bool Choose(absl::string_view text, absl::string_view off, absl::string_view on, bool& value) {
  value = text == on;
  return value || text == off;
}

bool SetItem(int item, absl::string_view value, PackingOptions& options) {
  switch (item) {
    case kItemLayouts:
      return value == absl::StrCat(kLayouts);
    case kItemPasses:
      options.passes = std::string(value);
      return SelectPasses(value).ok();
    case kItemExact:
      return Choose(value, "off", "on", options.exact);
    case kItemPrefer:
      return Choose(value, "speed", "memory", options.least_memory);
    case kItemInplace:
      return Choose(value, "off", "on", options.inplace);
    case kItemTile: {
      absl::StatusOr<TileSpec> tiles = TileSpec::Parse(value);
      if (tiles.ok()) options.tiles = *std::move(tiles);
      return tiles.ok();
    }
    case kItemPrecision:
      for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
        if (value != Name(dtype)) continue;
        options.precision = dtype;
        return true;
      }
      return false;
    case kItemBudget:
      options.budget = MemoryBudget();
      return value == "min" ||
             (absl::SimpleAtoi(value, &options.budget->bytes) && options.budget->bytes > 0);
    case kItemExtraFlops:
      return options.budget && absl::SimpleAtod(value, &options.budget->max_extra_flops) &&
             options.budget->max_extra_flops >= 0;
  }
  return false;
}

// Returns the differing options twice, with the values of `a` and of `b`. Compares the first
// `items` options.
std::pair<std::string, std::string> Difference(const PackingOptions& a, const PackingOptions& b,
                                               int items) {
  const std::array<Item, kItems> of_a = ItemsOf(a), of_b = ItemsOf(b);
  std::pair<std::string, std::string> texts;
  for (int i = 0; i < items; ++i) {
    if (of_a[i].second == of_b[i].second) continue;
    const char* const comma = texts.first.empty() ? "" : ", ";
    absl::StrAppend(&texts.first, comma, of_a[i].first, " ", of_a[i].second);
    absl::StrAppend(&texts.second, comma, of_b[i].first, " ", of_b[i].second);
  }
  return texts;
}

}  // namespace

PackingOptions PackingOptions::Of(const PlanTarget& target, const PlanningOptions& planning) {
  return {planning.passes,  planning.kernels.exact, planning.kernels.least_memory,
          planning.inplace, target.tiles,           target.precision,
          target.budget};
}

std::string PackingOptions::ToString() const {
  const std::array<Item, kItems> items = ItemsOf(*this), defaults = ItemsOf(PackingOptions());
  std::string text;
  for (int i = 0; i < kItems; ++i) {
    if (i > kItemPasses && items[i].second == defaults[i].second) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", items[i].first, " ", items[i].second);
  }
  return text;
}

absl::StatusOr<PackingOptions> PackingOptions::Parse(absl::string_view text) {
  PackingOptions options;
  const std::array<Item, kItems> items = ItemsOf(options);
  for (absl::string_view part : absl::StrSplit(text, ", ")) {
    bool known = false;
    for (int i = 0; i < kItems && !known; ++i) {
      absl::string_view value = part;
      known = absl::ConsumePrefix(&value, absl::StrCat(items[i].first, " ")) &&
              SetItem(i, value, options);
    }
    if (known) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("weights are packed under '", text.substr(0, 200), "', of which this version ",
                     "does not know '", part.substr(0, 64), "'"));
  }
  return options;
}

std::vector<PackedWeight> PackedWeightsOf(const WeightsPlan& plan) {
  std::vector<PackedWeight> weights;
  for (const WeightEntry& entry : plan.entries) {
    weights.push_back({entry.var, entry.key, entry.offset, entry.bytes});
  }
  return weights;
}

absl::Status CheckPackedFor(const PackedModel& packed, const Device& device,
                            const PlanTarget& target, const PlanningOptions& planning) {
  if (!device.is_host()) {
    return absl::FailedPreconditionError(
        absl::StrCat("packed weights are for the CPU, not for ", device.comp_node().ToString()));
  }
  const Processor processor = target.processor.value_or(device.processor());
  if (packed.processor != Name(processor.isa)) {
    return absl::FailedPreconditionError(
        absl::StrCat("weights are packed for '", packed.processor.substr(0, 64),
                     "', the plan is for '", processor.ToString(), "'"));
  }
  ASHLAR_ASSIGN_OR_RETURN(const PackingOptions options, PackingOptions::Parse(packed.options));
  PackingOptions asked = PackingOptions::Of(target, planning);
  if (planning.recorded != nullptr && options.tiles.empty()) {
    asked.tiles = options.tiles;
    asked.least_memory = options.least_memory;
  }
  const auto [has, wants] = Difference(options, asked, asked.budget ? kItems : kItemBudget);
  if (!has.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("weights are packed under '", has, "', asked for is '", wants, "'"));
  }
  if (asked.budget) {
    return absl::FailedPreconditionError("weights are packed in tiles; a budget asks for a search");
  }
  return absl::OkStatus();
}

}  // namespace ashlar
