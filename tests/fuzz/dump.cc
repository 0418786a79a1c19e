// MegEngine's profile dumps: read, imported, summarised, planned.
#include <nlohmann/json.hpp>

#include "serialization/megengine/import.h"
#include "serialization/megengine/recording_summary.h"
#include "tests/fuzz/plan.h"
#include "tests/fuzz/target.h"
#include "tests/serialization/megengine/small_dump.h"

namespace ashlar::testing {
namespace {

using nlohmann::json;

std::vector<std::string> Seeds() { return {SmallDump().dump()}; }

void Run(absl::Span<const uint8_t> file) {
  const auto recording =
      ParseProfileDump({reinterpret_cast<const char*>(file.data()), file.size()});
  ExpectAnError(recording.status());
  if (!recording.ok()) return;
  SummarizeMemory(*recording);
  TotalsByType(*recording);
  PlanWhatWasRead(ImportGraph(*recording, {.most_weight_bytes = 1 << 24}));
}

// Replaces a value by an edge value, or by one from elsewhere in the document.
std::string Mutate(const std::string& file, std::mt19937_64& random) {
  json document = json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!document.is_structured() || document.empty()) return WithChangedBytes(file, random);
  // Walks down from the root, to a leaf or to a node on the way.
  const auto walk = [&]() -> json* {
    json* at = &document;
    while (at->is_structured() && !at->empty() && (at == &document || random() % 8 != 0)) {
      auto next = at->begin();
      std::advance(next, static_cast<int64_t>(random() % at->size()));
      at = &*next;
    }
    return at;
  };
  json* const changed = walk();
  switch (random() % 6) {
    case 0:
      *changed = EdgeNumber(random);
      break;
    case 1:
      *changed = std::to_string(EdgeNumber(random));
      break;
    case 2:
      *changed = json(*walk());
      break;
    case 3: {
      const json values[] = {nullptr, true, "", json::array(), json::object(), 0.5, 1e300, -1};
      *changed = values[random() % std::size(values)];
      break;
    }
    default:  // a number near the old one
      if (changed->is_number_integer()) {
        const uint64_t near = changed->get<uint64_t>() + random() % 5 - 2;  // may wrap around
        *changed = static_cast<int64_t>(near);
      } else if (changed->is_structured() && !changed->empty()) {
        auto removed = changed->begin();
        std::advance(removed, static_cast<int64_t>(random() % changed->size()));
        changed->erase(removed);
      }
  }
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

const FuzzTarget kFuzzTarget = {Seeds, {}, Run, Mutate};

}  // namespace ashlar::testing
