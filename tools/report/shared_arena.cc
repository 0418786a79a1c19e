#include "tools/report/shared_arena.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tools/format.h"
#include "tools/report/table.h"

namespace ashlar {
namespace {

int64_t LargestArena(const std::vector<ArenaShare>& shares) {
  int64_t largest = 0;
  for (const ArenaShare& share : shares) largest = std::max(largest, share.arena);
  return largest;
}

int64_t SumOf(const std::vector<ArenaShare>& shares, int64_t ArenaShare::*bytes) {
  int64_t sum = 0;
  for (const ArenaShare& share : shares) sum += share.*bytes;
  return sum;
}

}  // namespace

ArenaShare ShareOf(const std::string& model, const PlannedGraph& planned) {
  return {model,
          planned.plan.plan.arena,
          planned.plan.lower_bound,
          planned.weights.bytes,
          planned.input_bytes(),
          planned.output_bytes()};
}

std::string SharedArenaTable(const std::vector<ArenaShare>& shares) {
  Table table({"model", ">arena", ">lower bound", ">weights", ">input", ">output"});
  const auto row = [&](const std::string& name, int64_t arena, const std::string& bound,
                       int64_t weights, int64_t input, int64_t output) {
    table.AddRow({name, absl::StrCat(arena), bound, absl::StrCat(weights), absl::StrCat(input),
                  absl::StrCat(output)});
  };
  for (const ArenaShare& share : shares) {
    row(share.model, share.arena, absl::StrCat(share.lower_bound), share.weights, share.input,
        share.output);
  }
  const int64_t shared = LargestArena(shares), apart = SumOf(shares, &ArenaShare::arena);
  row("together", shared, "", SumOf(shares, &ArenaShare::weights),
      SumOf(shares, &ArenaShare::input), SumOf(shares, &ArenaShare::output));
  return absl::StrCat(table.ToText(), "\none arena of ", FormatBytes(shared), " for all (",
                      FormatBytes(apart), " apart), as no two of them run at once\n");
}

Json SharedArenaDocument(const std::vector<ArenaShare>& shares) {
  Json models = Json::array();
  for (const ArenaShare& share : shares) {
    models.push_back({{"model", share.model},
                      {"arena_bytes", share.arena},
                      {"lower_bound_bytes", share.lower_bound},
                      {"weights_bytes", share.weights},
                      {"input_bytes", share.input},
                      {"output_bytes", share.output}});
  }
  return {{"arena_bytes", LargestArena(shares)},
          {"apart_bytes", SumOf(shares, &ArenaShare::arena)},
          {"models", std::move(models)}};
}

}  // namespace ashlar
