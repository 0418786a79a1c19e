// Sessions in the C interface.
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/needed_bytes.h"
#include "graph/status.h"
#include "library/c/border.h"
#include "library/c/objects.h"
#include "runtime/device/borrowed_memory.h"
#include "runtime/plan/stages/expected_times.h"
#include "runtime/session/arena_memory.h"
#include "runtime/session/profiler.h"

namespace ashlar::c {
namespace {

// Returns the caller's arena, or null if there is none.
absl::StatusOr<std::shared_ptr<DeviceMemory>> CallersArena(const ashlar_session_options& options,
                                                           const ashlar_memory& memory) {
  if (options.arena == nullptr) {
    if (options.arena_bytes == 0) return std::shared_ptr<DeviceMemory>();
    return InvalidArgument(absl::StrCat("arena is NULL, and arena_bytes is ", options.arena_bytes));
  }
  ASHLAR_RETURN_IF_ERROR(CheckArenaAddress(options.arena, memory.arena_alignment));
  const auto bytes = static_cast<int64_t>(options.arena_bytes);
  if (bytes < memory.arena) {
    return DoesNotFit(absl::StrCat("the arena given has ", options.arena_bytes,
                                   " bytes; the plan needs ", memory.arena),
                      memory.arena);
  }
  return std::shared_ptr<DeviceMemory>(
      std::make_shared<BorrowedMemory>(nullptr, options.arena, bytes));
}

// Returns the name; if the caller gives none, the name of the only tensor on this side.
absl::StatusOr<absl::string_view> NameOf(const char* name, const std::vector<Binding>& bindings,
                                         const char* side) {
  if (name != nullptr) return absl::string_view(name);
  if (bindings.size() == 1) return absl::string_view(bindings[0].name);
  return InvalidArgument(
      absl::StrCat("name is NULL, and the model has ", bindings.size(), " ", side));
}

absl::Status NotBound(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) ? WithStatus(status, ASHLAR_NOT_BOUND) : status;
}

// Calls `body` while no other thread is in the session.
template <typename Body>
ashlar_status In(ashlar_session* session, const Body& body) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(session, "session"));
    return session->use.Enter(body);
  });
}

ashlar_status Bind(ashlar_session* session, const char* name, const void* data, size_t size,
                   ashlar_place place, bool input) {
  return In(session, [&]() -> absl::Status {
    if (size > 0) ASHLAR_RETURN_IF_ERROR(CheckGiven(data, "data"));
    if (place != ASHLAR_HOST && place != ASHLAR_DEVICE) {
      return InvalidArgument(absl::StrCat("place is ", static_cast<int>(place)));
    }
    const Graph& graph = session->executable->graph();
    ASHLAR_ASSIGN_OR_RETURN(
        const absl::string_view tensor,
        input ? NameOf(name, graph.inputs(), "inputs") : NameOf(name, graph.outputs(), "outputs"));
    Session& of = *session->session;
    const auto bytes = static_cast<int64_t>(size);
    if (input) {
      return place == ASHLAR_HOST ? of.BindInput(tensor, data, bytes)
                                  : of.BindDeviceInput(tensor, data, bytes);
    }
    void* const target = const_cast<void*>(data);  // the caller's pointer was not const
    return place == ASHLAR_HOST ? of.BindOutput(tensor, target, bytes)
                                : of.BindDeviceOutput(tensor, target, bytes);
  });
}

template <typename Part>
ashlar_status Step(ashlar_session* session, const Part& part) {
  return In(session, [&] { return NotBound(part(*session->session)); });
}

ashlar_status OnEvent(ashlar_session* session, void* event,
                      absl::Status (Session::*what)(void* event)) {
  return In(session, [&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(event, "event"));
    return (session->session.get()->*what)(event);
  });
}

// Calls `what` with the device named `device`.
template <typename What>
ashlar_status OnMemory(const char* device, const void* data, const What& what) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(device, "device"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(data, "data"));
    ASHLAR_ASSIGN_OR_RETURN(const CompNode comp_node, CompNode::Parse(device));
    ASHLAR_ASSIGN_OR_RETURN(Device* const opened, OpenDevice(comp_node));
    return what(*opened);
  });
}

// Runs once, and writes the time of each step.
absl::Status Profile(ashlar_session& session, absl::Span<double> ms, double* expected_ms) {
  const PlannedGraph& planned = session.executable->planned();
  const std::vector<int>& order = planned.schedule.order;
  if (ms.size() != order.size()) {
    return InvalidArgument(
        absl::StrCat("steps is ", ms.size(), "; the plan has ", order.size(), " steps"));
  }
  Profiler profiler(static_cast<int>(order.size()));
  ASHLAR_RETURN_IF_ERROR(NotBound(session.session->Run(profiler)));
  const std::vector<double> expected = ExpectedTimes(planned);
  for (size_t i = 0; i < order.size(); ++i) {
    const StepTime& step = profiler.steps()[i];
    ms[i] = (step.end - step.start) * 1000;
    if (expected_ms != nullptr) expected_ms[i] = expected[static_cast<size_t>(order[i])];
  }
  return absl::OkStatus();
}

// Calls what(address, bytes) for a state of the session's.
template <typename What>
ashlar_status OnState(ashlar_session* session, const char* name, const void* data, size_t bytes,
                      const What& what) {
  return In(session, [&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(name, "name"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(data, "data"));
    StateMemory& states = *session->session->state();
    const StateEntry* const entry = states.pool().Find(name);
    if (entry == nullptr) {
      return InvalidArgument(absl::StrCat(
          "no state '", name, "'; the plan has: ",
          absl::StrJoin(states.pool().entries, ", ",
                        [](std::string* out, const StateEntry& e) { out->append(e.name); })));
    }
    if (static_cast<int64_t>(bytes) != entry->type.bytes()) {
      return InvalidArgument(
          absl::StrCat("state '", name, "' has ", entry->type.bytes(), " bytes, not ", bytes));
    }
    return what(states.Find(name), entry->type.bytes());
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<ashlar_session>> SessionIn(std::shared_ptr<DeviceMemory> arena,
                                                          const ashlar_plan& plan,
                                                          const ashlar_session_options& options) {
  SessionOptions own;
  auto made = std::make_unique<ashlar_session>(arena == nullptr ? nullptr : arena->data(),
                                               plan.memory.arena);
  own.arena = std::move(arena);
  own.stream = options.stream;
  ASHLAR_ASSIGN_OR_RETURN(made->executable, plan.loaded->Load());
  ASHLAR_ASSIGN_OR_RETURN(made->session, Session::Create(made->executable, own));
  return made;
}

absl::StatusOr<std::unique_ptr<ashlar_session>> SessionOf(const ashlar_plan& plan,
                                                          const ashlar_session_options& options) {
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> arena, CallersArena(options, plan.memory));
  return SessionIn(std::move(arena), plan, options);
}

}  // namespace ashlar::c

using ashlar::Session;

ashlar_status ashlar_plan_session(const ashlar_plan* plan, const ashlar_session_options* options,
                                  ashlar_session** session) {
  return ashlar::c::CallToMake(plan, "plan", session, "session", options, "ashlar_session_options",
                               ashlar::c::SessionOf);
}

void ashlar_session_release(ashlar_session* session) { delete session; }

ashlar_status ashlar_bind_input(ashlar_session* session, const char* name, const void* data,
                                size_t bytes, ashlar_place place) {
  return ashlar::c::Bind(session, name, data, bytes, place, /*input=*/true);
}

ashlar_status ashlar_released_input(ashlar_session* session, const char* name, void** data) {
  return ashlar::c::In(session, [&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(ashlar::c::CheckGiven(data, "data"));
    ASHLAR_ASSIGN_OR_RETURN(
        const absl::string_view input,
        ashlar::c::NameOf(name, session->executable->graph().inputs(), "inputs"));
    ASHLAR_ASSIGN_OR_RETURN(*data, session->session->PlaceOfInput(input));
    return absl::OkStatus();
  });
}

ashlar_status ashlar_bind_output(ashlar_session* session, const char* name, void* data,
                                 size_t bytes, ashlar_place place) {
  return ashlar::c::Bind(session, name, data, bytes, place, /*input=*/false);
}

ashlar_status ashlar_run(ashlar_session* session) {
  return ashlar::c::Step(session, [](Session& of) { return of.Run(); });
}

ashlar_status ashlar_start(ashlar_session* session) {
  return ashlar::c::Step(session, [](Session& of) { return of.Start(); });
}

ashlar_status ashlar_wait(ashlar_session* session) {
  return ashlar::c::Step(session, [](Session& of) { return of.Wait(); });
}

ashlar_status ashlar_wait_event(ashlar_session* session, void* event) {
  return ashlar::c::OnEvent(session, event, &Session::WaitForEvent);
}

ashlar_status ashlar_record_event(ashlar_session* session, void* event) {
  return ashlar::c::OnEvent(session, event, &Session::RecordEvent);
}

ashlar_status ashlar_pin(const char* device, void* data, size_t bytes) {
  return ashlar::c::OnMemory(
      device, data, [&](ashlar::Device& on) { return on.Pin(data, static_cast<int64_t>(bytes)); });
}

ashlar_status ashlar_unpin(const char* device, void* data) {
  return ashlar::c::OnMemory(device, data, [&](ashlar::Device& on) { return on.Unpin(data); });
}

ashlar_status ashlar_session_profile(ashlar_session* session, double* ms, double* expected_ms,
                                     size_t steps) {
  return ashlar::c::In(session, [&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(ashlar::c::CheckGiven(ms, "ms"));
    return ashlar::c::Profile(*session, absl::MakeSpan(ms, steps), expected_ms);
  });
}

ashlar_status ashlar_session_reset(ashlar_session* session) {
  return ashlar::c::In(session, [&] { return session->session->ResetStates(); });
}

ashlar_status ashlar_session_read_state(ashlar_session* session, const char* name, void* data,
                                        size_t bytes) {
  return ashlar::c::OnState(session, name, data, bytes, [&](const char* state, int64_t size) {
    return session->executable->planned().device->CopyOut(data, state, size);
  });
}

ashlar_status ashlar_session_write_state(ashlar_session* session, const char* name,
                                         const void* data, size_t bytes) {
  return ashlar::c::OnState(session, name, data, bytes, [&](char* state, int64_t size) {
    return session->executable->planned().device->CopyIn(state, data, size);
  });
}
