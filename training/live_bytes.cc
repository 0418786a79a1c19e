#include "training/live_bytes.h"

#include <algorithm>

#include "runtime/schedule/storage.h"

namespace ashlar {
namespace {

constexpr int kReaches[] = {0, 4, 1 << 20};

}  // namespace

LiveBytes::LiveBytes(const Graph& graph, const OrderMaker& maker) : begins_(graph.vars().size()) {
  const std::vector<bool> scheduled = ScheduledNodes(graph);
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const OperatorNode& node = graph.node(static_cast<int>(n));
    Step& step = steps_.emplace_back();
    step.runs =
        scheduled[n] && node.op->role() == Role::kCompute && !maker.IsUpdate(static_cast<int>(n));
    for (const int output : node.outputs) step.made.push_back({output});
    if (node.op->role() != Role::kCompute) continue;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.op->input_use(static_cast<int>(i)) == InputUse::kDeviceValue) {
        step.reads.push_back(static_cast<int>(i));
      }
    }
    const Aliasing aliasing = node.op->aliasing(graph.SiteOf(node));
    for (Made& made : step.made) made.bytes = graph.var(made.var).type.bytes();
    for (const Aliasing::View& view : aliasing.views) {
      step.made[static_cast<size_t>(view.output)].view = view.input;
    }
    for (const Aliasing::Update& update : aliasing.updates) {
      step.made[static_cast<size_t>(update.output)].bytes = 0;
    }
    for (const Aliasing::Overwrite& overwrite : aliasing.overwrites) {
      const Made& made = step.made[static_cast<size_t>(overwrite.output)];
      const auto read = std::find(step.reads.begin(), step.reads.end(), overwrite.input);
      if (made.bytes > 0 && made.view < 0 && read != step.reads.end()) {
        step.overwrites.emplace_back(overwrite.output, read - step.reads.begin());
      }
    }
  }
}

const std::vector<int64_t>& LiveBytes::Of(const OrderWithCopies& order) {
  part_of_.assign(static_cast<size_t>(order.values), -1);
  std::fill(begins_.begin(), begins_.end(), -1);
  parts_.clear();
  read_.clear();
  at_.clear();
  const int places = static_cast<int>(order.placed.size());
  for (int p = 0; p < places; ++p) {
    const OrderWithCopies::Placed& placed = order.placed[static_cast<size_t>(p)];
    const Step& step = steps_[static_cast<size_t>(placed.node)];
    if (!step.runs) continue;
    const int* const values = order.inputs.data() + placed.first_input;
    for (const int input : step.reads) {
      const int part = part_of_[static_cast<size_t>(values[input])];
      read_.push_back(part);
      if (part >= 0) parts_[static_cast<size_t>(part)].last = p;
    }
    for (const Made& made : step.made) {
      if (made.bytes == 0) continue;
      int part = static_cast<int>(parts_.size());
      if (made.view >= 0) {
        part = part_of_[static_cast<size_t>(values[made.view])];
      } else {
        parts_.push_back({made.bytes, -1});
        if (placed.made < 0) begins_[static_cast<size_t>(made.var)] = part;
      }
      part_of_[static_cast<size_t>(placed.made >= 0 ? placed.made : made.var)] = part;
    }
  }
  int64_t live = 0;
  size_t next = 0;                 // the next storage to begin
  const int* read = read_.data();  // the inputs of the current step
  for (int p = 0; p < places; ++p) {
    const Step& step = steps_[static_cast<size_t>(order.placed[static_cast<size_t>(p)].node)];
    if (!step.runs) {
      at_.push_back(live);
      continue;
    }
    const auto dies = [&](int part) {
      return part >= 0 && parts_[static_cast<size_t>(part)].last == p;
    };
    int64_t overwritten = 0;
    int done = -1, gone = -1;  // at most one output overwrites one input, as operators declare it
    for (const auto& [output, input] : step.overwrites) {
      const int part = read[input];
      if (output == done || part == gone || !dies(part)) continue;
      if (std::count(read, read + step.reads.size(), part) != 1) continue;
      overwritten += step.made[static_cast<size_t>(output)].bytes;
      done = output;
      gone = part;
    }
    int64_t made_bytes = 0, unread = 0;
    for (const Made& made : step.made) {
      if (made.bytes == 0 || made.view >= 0) continue;
      made_bytes += made.bytes;
      if (parts_[next].last < 0) unread += made.bytes;
      ++next;
    }
    at_.push_back(live + made_bytes - overwritten);
    live += made_bytes - unread;
    for (size_t i = 0; i < step.reads.size(); ++i) {
      if (!dies(read[i])) continue;
      live -= parts_[static_cast<size_t>(read[i])].bytes;
      // Marks the storage as freed, so that a second read does not free it again. Kept() decodes
      // the position.
      parts_[static_cast<size_t>(read[i])].last = -2 - p;
    }
    read += step.reads.size();
  }
  return at_;
}

std::pair<int, int64_t> LiveBytes::Kept(int var) const {
  const int part = begins_[static_cast<size_t>(var)];
  if (part < 0) return {-1, 0};
  const Part& p = parts_[static_cast<size_t>(part)];
  return {p.last <= -2 ? -2 - p.last : -1, p.bytes};
}

BestReach FindReach(OrderMaker& maker, LiveBytes& live, const MadeAgain& again) {
  BestReach best{-1, 0};
  for (const int reach : kReaches) {
    const std::vector<int64_t>& at = live.Of(maker.Make(again, reach));
    const int64_t peak = *std::max_element(at.begin(), at.end());
    if (best.reach < 0 || peak < best.peak) best = {reach, peak};
  }
  return best;
}

}  // namespace ashlar
