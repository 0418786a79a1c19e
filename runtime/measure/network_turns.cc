#include "runtime/measure/network_turns.h"

#include <utility>

#include "graph/status.h"
#include "runtime/measure/median_interval.h"

namespace ashlar {
namespace {

double Sum(const std::vector<double>& seconds, absl::Span<const int> nodes) {
  double sum = 0;
  for (const int node : nodes) sum += seconds[node];
  return sum;
}

}  // namespace

std::vector<double> NetworkTurns::Ratios(absl::Span<const int> of_present,
                                         absl::Span<const int> of_other) const {
  std::vector<double> ratios;
  for (const Pair& pair : pairs) {
    const double present = Sum(pair.present, of_present);
    if (present > 0) ratios.push_back(Sum(pair.other, of_other) / present);
  }
  return ratios;
}

double NetworkTurns::Seconds(std::vector<double> Pair::*plan, absl::Span<const int> nodes) const {
  std::vector<double> sums;
  for (const Pair& pair : pairs) sums.push_back(Sum(pair.*plan, nodes));
  return MedianOf(std::move(sums));
}

absl::StatusOr<NetworkTurns> TakeTurns(TimedNetwork& present, TimedNetwork& other,
                                       const TurnLimits& limits, const TuneOptions& tune) {
  NetworkTurns turns;
  ASHLAR_RETURN_IF_ERROR(present.Run().status());
  ASHLAR_RETURN_IF_ERROR(other.Run().status());
  for (int i = 0; i < limits.most && !tune.stopped(); ++i) {
    if (i >= limits.least && std::chrono::steady_clock::now() >= limits.until) break;
    NetworkTurns::Pair pair;
    for (const bool second : {false, true}) {
      const bool others = second == (i % 2 == 0);
      ASHLAR_ASSIGN_OR_RETURN((others ? pair.other : pair.present),
                              others ? other.Run() : present.Run());
      if (!second && tune.stopped()) return turns;
    }
    turns.pairs.push_back(std::move(pair));
  }
  return turns;
}

}  // namespace ashlar
