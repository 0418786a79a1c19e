// Which kernels were measured to be the fastest, by problem, and which tiles, by graph.
#ifndef ASHLAR_RUNTIME_PLAN_KERNEL_RECORD_H_
#define ASHLAR_RUNTIME_PLAN_KERNEL_RECORD_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "graph/tiling/tile_spec.h"
#include "runtime/device/processor.h"

namespace ashlar {

// An implementation is a family, and perhaps behind a slash a variant: "winograd4:avx512/14
// patches". Results of two variants of a family are equal to the bit; families differ in their
// rounding.
absl::string_view FamilyOf(absl::string_view implementation);

class KernelRecord {
 public:
  // The same family for all numbers of threads, so that results do not depend on that number.
  struct Choice {
    std::string family;
    std::map<int, std::string> variants;  // by threads: implementations of the family
  };

  std::string path;  // of the file that it comes from; empty: none
  // By KernelRequestKey.
  std::map<std::string, Choice> choices;
  std::map<int, MeasuredSpeeds> speeds;  // by threads
  // By TilesKey and threads; an empty spec: as it is the graph was the fastest.
  std::map<std::string, std::map<int, TileSpec>> tiles;

  // How well an implementation suits a problem: 2 for the variant on record for so many threads, 1
  // for another of its family, else 0.
  int Preference(const std::string& key, int threads, absl::string_view implementation) const;
};

// The part of a plan that comes of a record.
struct RecordUse {
  std::string path;    // KernelRecord::path; empty: there is no record
  int problems = 0;    // different ones that the plan has kernels for
  int answered = 0;    // of them, on record
  bool tiles = false;  // whether its tiles are on record, too
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_KERNEL_RECORD_H_
