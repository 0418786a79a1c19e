#include "tools/repeat_options.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/plan/request/request_options.h"

namespace ashlar {

std::vector<std::string> OptionsToRepeat(const PlannedGraph& planned) {
  const TileSpec& tiles = planned.tiles;
  std::vector<std::string> options = {"--tile", tiles.empty() ? "none" : tiles.ToString()};
  OptionTexts texts = OptionsToRepeat(planned.SettledRequest());
  texts.erase("tile");
  // Found for the window, together with forms of weights that no option names.
  const PlanRequest& asked = planned.request;
  if (asked.target.weights_budget && asked.planning.panel_bytes == 0) texts.erase("panels");
  const std::optional<TotalBudget>& total = planned.request.target.total;
  if (total && planned.planning.most_weights < std::numeric_limits<int64_t>::max()) {
    options = {"--total-budget", absl::StrCat(total->bytes)};
    for (const char* found : {"prefer", "passes"}) texts.erase(found);  // by the search
  }
  for (const RequestOption& option : RequestOptions()) {
    const auto text = texts.find(option.name);
    if (text == texts.end()) continue;
    options.push_back(absl::StrCat("--", option.name));
    if (!option.metavar.empty()) options.push_back(text->second);
  }
  return options;
}

std::vector<std::string> OptionsToRepeat(const TileSpec& tiles, const RecomputeSpec& recompute) {
  std::vector<std::string> options = {"--recompute", recompute.ToString()};
  if (!tiles.empty()) options.insert(options.begin(), {"--tile", tiles.ToString()});
  return options;
}

}  // namespace ashlar
