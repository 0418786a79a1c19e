// PyTorch's memory snapshots: pickles with any bytes, read and planned.
#include "memory/planner.h"
#include "memory/problem/work.h"
#include "serialization/memory_snapshot.h"
#include "tests/fuzz/target.h"

namespace ashlar::testing {
namespace {

constexpr size_t kMostBuffers = 2000;  // limit for planning

// One segment, two allocations and an older one, as Python writes them in protocols 2 and 4.
std::vector<std::string> Seeds() {
  constexpr absl::string_view kSecond(
      "\200\002}q\000(X\010\000\000\000segmentsq\001]q\002}q\003(X\006\000\000\000deviceq\004"
      "K\000X\007\000\000\000addressq\005M\000\020X\012\000\000\000total_sizeq\006M\000\010X"
      "\006\000\000\000blocksq\007]q\010(}q\011(X\004\000\000\000sizeq\012M\000\002X\005\000"
      "\000\000stateq\013X\020\000\000\000active_allocatedq\014h\005M\000\020u}q\015(h\012M\000"
      "\006h\013X\010\000\000\000inactiveq\016ueuaX\015\000\000\000device_tracesq\017]q\020]"
      "q\021(}q\022(X\006\000\000\000actionq\023X\015\000\000\000segment_allocq\024X\004\000"
      "\000\000addrq\025M\000\020h\012M\000\010u}q\026(h\023X\005\000\000\000allocq\027h\025"
      "M\000\020h\012M\000\002X\006\000\000\000framesq\030]q\031}q\032(X\010\000\000\000file"
      "nameq\033X\004\000\000\000a.pyq\034X\004\000\000\000lineq\035K\003X\004\000\000\000na"
      "meq\036X\001\000\000\000fq\037uau}q (h\023h\027h\025M\000\022h\012M\274\002u}q!(h\023"
      "X\016\000\000\000free_requestedq\"h\025M\000\022h\012M\274\002u}q#(h\023X\016\000\000"
      "\000free_completedq$h\025M\000\022h\012M\274\002u}q%(h\023h$h\025M\000\026h\012K\010u"
      "eau.",
      496);
  constexpr absl::string_view kFourth(
      "\200\004\225\206\001\000\000\000\000\000\000}\224(\214\010segments\224]\224}\224(\214"
      "\006device\224K\000\214\007address\224M\000\020\214\012total_size\224M\000\010\214\006"
      "blocks\224]\224(}\224(\214\004size\224M\000\002\214\005state\224\214\020active_alloca"
      "ted\224h\005M\000\020u}\224(h\012M\000\006h\013\214\010inactive\224ueua\214\015device"
      "_traces\224]\224]\224(}\224(\214\006action\224\214\015segment_alloc\224\214\004addr\224"
      "M\000\020h\012M\000\010u}\224(h\023\214\005alloc\224h\025M\000\020h\012M\000\002\214\006"
      "frames\224]\224}\224(\214\010filename\224\214\004a.py\224\214\004line\224K\003\214\004"
      "name\224\214\001f\224uau}\224(h\023h\027h\025M\000\022h\012M\274\002u}\224(h\023\214\016"
      "free_requested\224h\025M\000\022h\012M\274\002u}\224(h\023\214\016free_completed\224h"
      "\025M\000\022h\012M\274\002u}\224(h\023h$h\025M\000\026h\012K\010ueau.",
      401);
  return {std::string(kSecond), std::string(kFourth)};
}

void Run(absl::Span<const uint8_t> file) {
  const auto snapshot = ReadMemorySnapshot(file, "x.pickle");
  ExpectAnError(snapshot.status());
  if (!snapshot.ok()) return;
  const memory::Problem& problem = snapshot->problem.problem;
  Expect(snapshot->offsets.size() == problem.buffers.size(), "each buffer has its old place");
  Expect(snapshot->problem.names.size() == problem.buffers.size(), "each buffer has a name");
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const int64_t end = snapshot->offsets[i] + problem.buffers[i].size;
    Expect(snapshot->offsets[i] >= 0 && end <= snapshot->span_bytes, "places are inside");
  }
  if (problem.buffers.size() > kMostBuffers) return;
  memory::PlanOptions options;
  options.limits.work = memory::kWorkPerMillisecond;
  const auto planned = memory::PlanMemory(problem, options);
  ExpectAnError(planned.status());
  if (!planned.ok()) return;
  Expect(planned->plan.arena >= snapshot->allocated_bytes, "no plan is smaller than what is live");
}

}  // namespace

const FuzzTarget kFuzzTarget = {Seeds, {}, Run, nullptr};

}  // namespace ashlar::testing
