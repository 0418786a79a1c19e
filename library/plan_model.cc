#include "library/plan_model.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/file_mapping.h"
#include "graph/needed_bytes.h"
#include "graph/status.h"
#include "library/packing_command.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/record/packed_parts.h"
#include "runtime/plan/stages/memory_need.h"
#include "runtime/plan/total_plan.h"
#include "serialization/native/reader.h"

namespace ashlar {
namespace {

// Windows that are tried within a total: the plan of each says what it takes besides.
constexpr int kWindows = 4;

void Tell(const NoteListener& note, const std::string& text) {
  if (note) note(text);
}

void TellOfStreaming(const NoteListener& note, const Model& model) {
  Tell(note, absl::StrCat(model.file.name,
                          ": streams its weights, as the total has no room for all of them"));
}

// FailedPrecondition where weights that were packed before do not fit a budget for the total; of
// streamed weights ResourceExhausted, because no other plan streams them.
absl::StatusOr<std::shared_ptr<const Executable>> WithinTotal(
    std::shared_ptr<const Executable> packed, const PlanRequest& request) {
  const std::optional<TotalBudget>& total = request.target.total;
  if (!total) return packed;
  const MemoryNeed need = NeedOf(packed->planned(), total->process_bytes, /*in_file=*/true);
  if (need.total() <= total->bytes) return packed;
  const std::string message =
      absl::StrCat("as it is packed it takes ", need.total(), " bytes (", need.ToString(),
                   "), more than the total budget of ", total->bytes);
  return request.target.weights_budget ? DoesNotFit(message, need.total())
                                       : absl::FailedPreconditionError(message);
}

// Returns the total of a plan like this one that has all weights packed in memory, in their
// smallest known forms.
int64_t TotalInMemory(const PlannedGraph& planned, int64_t process_bytes) {
  const MemoryNeed need = NeedOf(planned, process_bytes);
  return std::max(LeastTotal(planned, process_bytes) - process_bytes + need.process + need.arena,
                  PlanningBytes(planned, process_bytes, 0));
}

bool FitsTotal(const absl::StatusOr<std::unique_ptr<PlannedGraph>>& planned,
               const TotalBudget& total) {
  if (!planned.ok()) return !absl::IsResourceExhausted(planned.status());
  return NeedOf(**planned, total.process_bytes).total() <= total.bytes;
}

// Streams packed weights in the bytes that a budget for the total leaves for them beside `rest`,
// the need of all others. If these are too few, ResourceExhausted with the total for the smallest
// window.
absl::StatusOr<std::shared_ptr<const Executable>> StreamedWithinTotal(const PackedModel& packed,
                                                                      PlanRequest request,
                                                                      int64_t rest) {
  const TotalBudget& total = *request.target.total;
  int64_t window = std::max<int64_t>(total.bytes - rest, 1);
  absl::StatusOr<std::shared_ptr<const Executable>> streamed;
  for (int i = 0; i < kWindows; ++i) {
    request.target.weights_budget = window;
    streamed = nullptr;  // before the next plan
    streamed = Executable::FromPacked(packed, request);
    if (const std::optional<int64_t> least = NeededBytes(streamed.status())) {
      window = *least;
      continue;
    }
    ASHLAR_RETURN_IF_ERROR(streamed.status());
    // A plan with more reads takes more memory, too.
    const MemoryNeed need = NeedOf((*streamed)->planned(), total.process_bytes, /*in_file=*/true);
    const int64_t left = total.bytes - (need.total() - need.planning - need.weights);
    if (need.total() <= total.bytes || left <= 0 || left >= window) break;
    window = left;
  }
  ASHLAR_RETURN_IF_ERROR(streamed.status());
  return WithinTotal(*std::move(streamed), request);
}

// Refuses a total, and says what streamed weights take instead.
absl::Status RefuseTotal(const absl::Status& status, const std::string& or_streamed,
                         std::optional<int64_t> streamed) {
  const int64_t whole = NeededBytes(status).value_or(std::numeric_limits<int64_t>::max());
  return DoesNotFit(absl::StrCat(status.message(), or_streamed),
                    std::min(whole, streamed.value_or(whole)));
}

// Returns the addresses of the constants that nobody reads, because their only reader finds them
// packed in the file.
absl::flat_hash_set<const void*> UnreadConstants(const Graph& model, const PlannedGraph& planned) {
  absl::flat_hash_map<const void*, size_t> readers;
  for (const OperatorNode& node : model.nodes()) {
    if (node.constant == nullptr) continue;
    readers[node.constant->raw()] += model.readers(node.outputs[0]).size();
  }
  absl::flat_hash_set<const void*> unread, read;
  for (const WeightEntry& entry : planned.weights.entries) {
    const void* const bytes = planned.graph.constant(entry.var)->source().raw();
    const bool found = entry.packed != nullptr && readers[bytes] == 1;
    (found ? unread : read).insert(bytes);
  }
  for (const void* bytes : read) unread.erase(bytes);
  return unread;
}

// The packed part of the file, or for a recorded plan as much of it as that plan packs alike;
// neither, with a note that says why, where it does not suit. If it is too large for a total, and
// could be streamed, `large` becomes it.
struct LargePacked {
  PackedModel packed;
  int64_t rest;          // bytes that a plan takes besides the weights
  absl::Status refused;  // the error of streaming it, if that was tried
};
absl::StatusOr<PlannedModel> FromPacked(Model& model, const PlanRequest& request,
                                        const NoteListener& note,
                                        std::optional<LargePacked>& large) {
  PlannedModel result;
  if (PackedFor(model, request.target) == nullptr) return result;
  if (!model.packed) {
    const Model::AtOwnShapes& own = *model.at_own_shapes;
    if (model.file.mapping != nullptr) {
      ASHLAR_RETURN_IF_ERROR(DamagedFile(CheckPackedWeights(model.file)));
    }
    absl::StatusOr<PackedModel> packed = PackedAtShapes(own.packed, own.graph, model.graph);
    if (!packed.ok()) return Annotate(packed.status(), model.file.name);
    model.packed = *std::move(packed);
  }
  const PackedModel& packed = *model.packed;  // a copy would take as much as a plan
  absl::StatusOr<std::shared_ptr<const Executable>> executable =
      Executable::FromPacked(packed, request);
  std::optional<int64_t> rest;
  bool stream = false;  // whether all weights and the untiled arena do not fit together
  if (const auto& total = request.target.total; total && executable.ok()) {
    const PlannedGraph& planned = (*executable)->planned();
    const MemoryNeed need = NeedOf(planned, total->process_bytes, /*in_file=*/true);
    rest = need.total() - need.planning - need.weights - need.file;
    stream = TotalInMemory(planned, total->process_bytes) > total->bytes;
    executable = WithinTotal(*std::move(executable), request);
  }
  if (executable.ok()) {
    result.packed = *std::move(executable);
    return result;
  }
  if (!absl::IsFailedPrecondition(executable.status())) {
    return OfModel(model.file.name, executable.status());
  }
  if (request.target.weights_budget) {  // weights that are packed anew cannot be streamed
    return absl::FailedPreconditionError(
        absl::StrCat(model.file.name, ": ", executable.status().message(),
                     AdviceToPack(packed, model.file.name, request)));
  }
  absl::Status refused;
  if (stream) {  // a refusal below names the other ways, too
    auto streamed = StreamedWithinTotal(packed, request, *rest);
    if (streamed.ok()) {
      TellOfStreaming(note, model);
      result.packed = *std::move(streamed);
      return result;
    }
    refused = streamed.status();
  }
  if (request.planning.recorded != nullptr) {
    absl::StatusOr<std::unique_ptr<PlannedGraph>> planned =
        PlanWithPackedParts(packed, Graph(model.graph), request);
    if (planned.ok()) {
      ASHLAR_RETURN_IF_ERROR(UsePlainWeights(model, UnreadConstants(model.graph, **planned)));
      result.planned = *std::move(planned);
      return result;
    }
    if (!absl::IsFailedPrecondition(planned.status())) return planned.status();
  }
  if (rest) large = LargePacked{*std::move(model.packed), *rest, std::move(refused)};
  ASHLAR_RETURN_IF_ERROR(UsePlainWeights(model));
  Tell(note, absl::StrCat(model.file.name, ": ", executable.status().message(), "; packing anew"));
  for (const auto& file : FilesOf(model)) file->DropResidentPages();
  return result;
}

}  // namespace

absl::Status OfModel(const std::string& name, const absl::Status& status) {
  return NeededBytes(status) && !name.empty() ? Annotate(status, name) : status;
}

const PackedModel* PackedFor(const Model& model, const PlanTarget& target) {
  if (model.packed) return &*model.packed;
  const bool streams = model.at_own_shapes != nullptr && target.weights_budget;
  return streams ? &model.at_own_shapes->packed : nullptr;
}

absl::StatusOr<PlannedModel> PlanModel(Model model, const PlanRequest& request,
                                       const NoteListener& note) {
  std::optional<LargePacked> large;
  ASHLAR_ASSIGN_OR_RETURN(PlannedModel result, FromPacked(model, request, note, large));
  if (result.packed != nullptr || result.planned != nullptr) return result;
  absl::StatusOr<std::unique_ptr<PlannedGraph>> planned =
      PlanGraph(std::move(model.graph), request);
  if (request.target.total && !FitsTotal(planned, *request.target.total)) {
    std::optional<int64_t> need;  // of streamed weights
    if (large) {
      if (large->refused.ok()) {
        auto streamed = StreamedWithinTotal(large->packed, request, large->rest);
        if (streamed.ok()) {
          TellOfStreaming(note, model);
          result.packed = *std::move(streamed);
          return result;
        }
        large->refused = streamed.status();
      }
      need = NeededBytes(large->refused);
      if (need) {
        result.or_streamed = absl::StrCat("; with its packed weights streamed it takes ", *need);
      }
    } else {
      result.or_streamed =
          absl::StrCat("; `convert --pack --total-budget ", request.target.total->bytes,
                       "` may make a file whose weights are streamed");
    }
    if (!planned.ok()) planned = RefuseTotal(planned.status(), result.or_streamed, need);
  }
  if (!planned.ok()) return OfModel(model.file.name, planned.status());
  result.planned = *std::move(planned);
  return result;
}

}  // namespace ashlar
