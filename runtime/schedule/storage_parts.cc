// Cuts the bytes of a storage at all ends of its readers' ranges (a sweep over intervals);
// neighbouring ranges with the same readers form one sub-buffer.
#include "runtime/schedule/storage_parts.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "graph/region.h"

namespace ashlar {
namespace {

// Limits for one storage, which otherwise stays whole: its sub-buffers, and the ranges of bytes of
// one reader.
constexpr size_t kMostParts = 1024;
constexpr int64_t kMostRangees = 256;

// Bytes [begin, end) of a storage.
struct ByteRange {
  int64_t begin = 0, end = 0;
};

// One dimension of a tensor in memory order, and the range of it that is read.
struct Extent {
  int64_t size = 0;
  Range read;
};

// Returns the dimensions of a tensor, outermost first, the last in bytes.
absl::InlinedVector<Extent, 5> ExtentsOf(const TensorType& type, const Region& region) {
  absl::InlinedVector<Extent, 5> extents;
  const auto add = [&](int axis) { extents.push_back({type.shape[axis], region[axis]}); };
  if (type.format == Format::kDefault) {
    for (int axis = 0; axis < type.shape.rank(); ++axis) add(axis);
    extents.push_back({SizeOf(type.dtype), {0, SizeOf(type.dtype)}});
    return extents;
  }
  if (type.format == Format::kNHWC) {
    for (const int axis : {0, 2, 3, 1}) add(axis);
    extents.push_back({SizeOf(type.dtype), {0, SizeOf(type.dtype)}});
    return extents;
  }
  const int64_t blocks = ChannelBlocks(type.shape[1]);
  const Extent channels = {
      blocks, {region[1].begin / kChannelBlock, CeilDivide(region[1].end, kChannelBlock)}};
  const int64_t block = kChannelBlock * SizeOf(type.dtype);
  add(0);
  if (type.format == Format::kNCHW16c) extents.push_back(channels);
  add(2);
  if (type.format == Format::kNHCW16c) extents.push_back(channels);
  add(3);
  extents.push_back({block, {0, block}});
  return extents;
}

// Adds the byte ranges of a region of a tensor that begins at `offset`; returns false if there are
// too many.
bool AddByteRanges(const TensorType& type, const Region& region, int64_t offset,
                   std::vector<ByteRange>& ranges) {
  const auto extents = ExtentsOf(type, region);
  // From the innermost dimension outwards: the region is one range as long as dimensions are whole.
  int64_t unit = 1, count = 1;
  size_t outer = extents.size();
  ByteRange run = {0, 1};
  while (outer > 0 && run.begin == 0 && run.end == unit) {
    const Extent& extent = extents[--outer];
    run = {extent.read.begin * unit, extent.read.end * unit};
    unit *= extent.size;
  }
  for (size_t i = 0; i < outer; ++i) {
    if (extents[i].read.empty()) return true;
    count *= extents[i].read.size();
    if (count > kMostRangees) return false;
  }
  for (int64_t k = 0; k < count; ++k) {
    int64_t at = 0, scale = unit, rest = k;
    for (size_t i = outer; i-- > 0;) {
      const Range& read = extents[i].read;
      at += (read.begin + rest % read.size()) * scale;
      rest /= read.size();
      scale *= extents[i].size;
    }
    ranges.push_back({offset + at + run.begin, offset + at + run.end});
  }
  return true;
}

// Returns the region of an input that an operator reads; nullopt: all of it. An operator that only
// moves elements returns this region only for a part of its output. For all of its output, its
// parameters may stay as they are. So this asks for all of the output as a part of a larger one.
std::optional<Region> ReadRegion(const Graph& graph, const OperatorNode& node, size_t input) {
  if (node.outputs.size() != 1 || node.op->role() != Role::kCompute) return std::nullopt;
  OwnedSite site = graph.SiteOf(node);
  const Region all = WholeRegion(site.outputs[0].shape);
  if (node.op->storage_rules(site).moves) {
    for (int axis = 0; axis < site.outputs[0].shape.rank(); ++axis) {
      ++site.outputs[0].shape[axis];
    }
  } else if (!node.op->CropsInput(static_cast<int>(input))) {
    return std::nullopt;
  }
  const std::optional<std::vector<Region>> regions = node.op->InputRegions(all, site);
  if (!regions) return std::nullopt;
  return Clip((*regions)[input], site.inputs[input].type.shape);
}

class Parts {
 public:
  Parts(const Graph& graph, absl::Span<const Aliasing> aliasing, StorageModel& model)
      : graph_(graph), aliasing_(aliasing), model_(model), first_(model.storages.size()) {}

  void Run(bool inputs_only) {
    const size_t count = model_.storages.size();
    // Storages that are written again later: their readers do not tell when bytes die.
    std::vector<bool> stays(count, false);
    for (size_t var = 0; var < model_.views.size(); ++var) {
      if (model_.updated[var]) stays[model_.views[var].storage] = true;
    }
    for (size_t s = 0; s < count; ++s) {
      const Storage& storage = model_.storages[s];
      const bool is_input = graph_.node(storage.producer).op->role() == Role::kInput;
      if (storage.pool != Pool::kArena || stays[s] || (inputs_only && !is_input)) continue;
      const std::vector<Part> parts = PartsOf(static_cast<int>(s));
      if (!parts.empty()) Apart(static_cast<int>(s), parts);
    }
    Relate();
  }

 private:
  struct Part {
    int64_t begin = 0, end = 0;
    std::vector<int> readers;
  };

  // Adds the bytes of a storage that a node reads; returns false if it may read all of them.
  bool ByteRangesOf(int index, int storage, std::vector<ByteRange>& ranges) const {
    const OperatorNode& node = graph_.node(index);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const VarView view = model_.views[node.inputs[i]];
      if (view.storage != storage) continue;
      if (node.op->input_use(static_cast<int>(i)) != InputUse::kDeviceValue) continue;
      if (IsViewed(node, index, static_cast<int>(i))) {
        for (const int output : node.outputs) AddAll(output, ranges);
        continue;
      }
      const std::optional<Region> region = ReadRegion(graph_, node, i);
      if (!region) {
        AddAll(node.inputs[i], ranges);
      } else if (!AddByteRanges(graph_.var(node.inputs[i]).type, *region, view.offset, ranges)) {
        return false;
      }
    }
    return true;
  }

  void AddAll(int var, std::vector<ByteRange>& ranges) const {
    const int64_t begin = model_.views[var].offset;
    ranges.push_back({begin, begin + graph_.var(var).type.bytes()});
  }

  // Returns whether all outputs of a node are views of that input: then its readers count instead.
  bool IsViewed(const OperatorNode& node, int index, int input) const {
    return std::all_of(node.outputs.begin(), node.outputs.end(), [&](int output) {
      const auto of_input = [&](const Aliasing::View& view) {
        return node.outputs[view.output] == output && view.input == input;
      };
      const std::vector<Aliasing::View>& views = aliasing_[index].views;
      return model_.views[output].storage == model_.views[node.inputs[input]].storage &&
             !model_.updated[output] && std::any_of(views.begin(), views.end(), of_input);
    });
  }

  // Returns the ranges of bytes with the same readers; empty if all bytes have the same readers.
  std::vector<Part> PartsOf(int storage) const {
    const int64_t bytes = model_.storages[storage].bytes;
    std::vector<std::pair<ByteRange, int>> reads;
    std::vector<int64_t> cuts;
    for (const int reader : model_.storages[storage].readers) {
      std::vector<ByteRange> ranges;
      if (!ByteRangesOf(reader, storage, ranges)) ranges = {{0, bytes}};
      for (const ByteRange& range : ranges) {
        if (range.begin >= range.end) continue;
        reads.emplace_back(range, reader);
        cuts.push_back(range.begin);
        cuts.push_back(range.end);
      }
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::sort(reads.begin(), reads.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first.begin, a.second) < std::pair(b.first.begin, b.second);
    });
    std::vector<Part> parts;
    std::multiset<std::pair<int, int64_t>> open;  // readers, and the ends of their ranges
    size_t next = 0;
    for (size_t k = 0; k + 1 < cuts.size(); ++k) {
      std::erase_if(open, [&](const auto& read) { return read.second <= cuts[k]; });
      for (; next < reads.size() && reads[next].first.begin == cuts[k]; ++next) {
        open.emplace(reads[next].second, reads[next].first.end);
      }
      std::vector<int> readers;
      for (const auto& [reader, end] : open) {
        if (readers.empty() || readers.back() != reader) readers.push_back(reader);
      }
      if (readers.empty()) continue;
      if (!parts.empty() && parts.back().end == cuts[k] && parts.back().readers == readers) {
        parts.back().end = cuts[k + 1];
      } else {
        parts.push_back({cuts[k], cuts[k + 1], std::move(readers)});
      }
    }
    const bool is_whole = parts.size() == 1 && parts[0].begin == 0 && parts[0].end == bytes;
    if (is_whole || parts.size() > kMostParts) parts.clear();
    return parts;
  }

  void Apart(int storage, const std::vector<Part>& parts) {
    const Storage whole = model_.storages[storage];
    first_[storage] = static_cast<int>(model_.storages.size());
    for (const Part& part : parts) {
      const int at = static_cast<int>(model_.storages.size());
      model_.storages.push_back({whole.owner, part.end - part.begin, whole.pool, whole.producer,
                                 whole.binding, part.readers, whole.mover, storage});
      model_.parts[whole.producer].push_back({at, storage, part.begin});
    }
    model_.storages[storage].readers.clear();
    for (const int reader : whole.readers) {
      std::vector<int>& reads = model_.reads[reader];
      reads.erase(std::find(reads.begin(), reads.end(), storage));
    }
    for (size_t k = 0; k < parts.size(); ++k) {
      for (const int reader : parts[k].readers) {
        model_.reads[reader].push_back(first_[storage] + static_cast<int>(k));
      }
    }
  }

  // Lets overwrites of bytes within one sub-buffer refer to it: they are allowed once it dies.
  void Relate() {
    for (std::vector<Overwrite>& overwrites : model_.overwrites) {
      for (Overwrite& overwrite : overwrites) {
        const Storage& whole = model_.storages[overwrite.storage];
        if (first_[overwrite.storage] == 0) continue;
        for (const Placement& part : model_.parts[whole.producer]) {
          const int64_t end = part.offset + model_.storages[part.inner].bytes;
          if (part.outer != overwrite.storage || part.offset > overwrite.offset ||
              overwrite.offset + model_.storages[overwrite.made].bytes > end) {
            continue;
          }
          overwrite.storage = part.inner;
          overwrite.offset -= part.offset;
          break;
        }
      }
    }
  }

  const Graph& graph_;
  const absl::Span<const Aliasing> aliasing_;
  StorageModel& model_;
  std::vector<int> first_;  // by storage: its first part, or 0
};

}  // namespace

void ApartByReaders(const Graph& graph, absl::Span<const Aliasing> aliasing, bool inputs_only,
                    StorageModel& model) {
  Parts(graph, aliasing, model).Run(inputs_only);
}

}  // namespace ashlar
