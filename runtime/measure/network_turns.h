// Times two plans of a network in alternating runs, so that other load on the machine slows both.
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

  // Returns by pair the seconds of `of_other` in the other plan over the seconds of `of_present` in
  // the present one.
  std::vector<double> Ratios(absl::Span<const int> of_present,
                             absl::Span<const int> of_other) const;
  // The same for nodes that both plans have.
  std::vector<double> Ratios(absl::Span<const int> nodes) const { return Ratios(nodes, nodes); }
  // Returns the median of the nodes' seconds in a plan, &Pair::present or &Pair::other.
  double Seconds(std::vector<double> Pair::*plan, absl::Span<const int> nodes) const;
};

// Pairs to confirm a gain: fewer give no interval (MedianIntervalOf).
inline constexpr int kLeastConfirming = 6;

struct TurnLimits {
  int least, most;                              // pairs
  std::chrono::steady_clock::time_point until;  // after this time, only `least` pairs
};

// Runs both once, uncounted, and then pairs; every second pair begins with the other plan. Returns
// fewer pairs if stopped.
absl::StatusOr<NetworkTurns> TakeTurns(TimedNetwork& present, TimedNetwork& other,
                                       const TurnLimits& limits, const TuneOptions& tune);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_NETWORK_TURNS_H_
