// A record of measurements: the fastest kernels by problem, and the fastest tiles by graph.
#ifndef ASHLAR_RUNTIME_PLAN_REQUEST_KERNEL_RECORD_H_
#define ASHLAR_RUNTIME_PLAN_REQUEST_KERNEL_RECORD_H_

#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "graph/tiling/tile_spec.h"
#include "runtime/device/processor.h"

namespace ashlar {

// Returns the family of an implementation. An implementation is a family, or a family and a variant
// after a slash: "winograd4:avx512/14 patches". Results of two variants of a family are equal to
// the bit; families differ in rounding.
absl::string_view FamilyOf(absl::string_view implementation);

// The speed of reads from the disk that weights are streamed from.
struct DiskSpeed {
  double read_ms = 0.1;       // of any read
  double bytes_per_ms = 1e6;  // in addition
};

class KernelRecord {
 public:
  // All numbers of threads have the same family, so that results do not depend on the number.
  struct Choice {
    std::string family;
    std::map<int, std::string> variants;  // by threads: implementations of the family
  };

  std::string path;  // of the file that was read; empty: none
  // By KernelRequestKey.
  std::map<std::string, Choice> choices;
  std::map<int, MeasuredSpeeds> speeds;  // by threads
  std::optional<DiskSpeed> disk;         // nothing: not measured
  // By TilesKey and threads; an empty spec: the untiled graph was the fastest.
  std::map<std::string, std::map<int, TileSpec>> tiles;

  // Returns how well an implementation matches the record: 2 for the recorded variant at this
  // number of threads, 1 for another variant of the family, otherwise 0.
  int Preference(const std::string& key, int threads, absl::string_view implementation) const;
};

// How a plan used a record.
struct RecordUse {
  std::string path;    // KernelRecord::path; empty: there is no record
  int problems = 0;    // number of different problems that the plan has kernels for
  int answered = 0;    // how many of them are recorded
  bool tiles = false;  // whether the plan's tiles are recorded, too
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_REQUEST_KERNEL_RECORD_H_
