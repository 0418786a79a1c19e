// Two plans of a network timed in runs that take turns, so that whatever else the machine does
// meanwhile slows both.
#ifndef ASHLAR_RUNTIME_MEASURE_NETWORK_TURNS_H_
#define ASHLAR_RUNTIME_MEASURE_NETWORK_TURNS_H_

#include <chrono>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/measure/timed_network.h"
#include "runtime/measure/tune_options.h"

namespace ashlar {

struct NetworkTurns {
  struct Pair {
    std::vector<double> present, other;  // seconds, by node
  };
  std::vector<Pair> pairs;

  // By pair, what nodes took in the other plan over what nodes took in the present one.
  std::vector<double> Ratios(absl::Span<const int> of_present,
                             absl::Span<const int> of_other) const;
  // Of the same nodes, where both plans have them.
  std::vector<double> Ratios(absl::Span<const int> nodes) const { return Ratios(nodes, nodes); }
  // The median of their seconds in a plan, &Pair::present or &Pair::other.
  double Seconds(std::vector<double> Pair::*plan, absl::Span<const int> nodes) const;
};

// Pairs to confirm a gain with: of fewer nothing is sure (MedianIntervalOf).
inline constexpr int kLeastConfirming = 6;

struct TurnLimits {
  int least, most;                              // pairs
  std::chrono::steady_clock::time_point until;  // from then on no more than the least
};

// Runs both once, uncounted, and then pairs, of which every second begins with the other plan;
// fewer where it is stopped.
absl::StatusOr<NetworkTurns> TakeTurns(TimedNetwork& present, TimedNetwork& other,
                                       const TurnLimits& limits, const TuneOptions& tune);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_NETWORK_TURNS_H_
