#include "serialization/tflite/offline_plan.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "serialization/reject.h"
#include "serialization/tflite/file.h"

namespace ashlar {
namespace {

constexpr int64_t kAlignment = 16;  // of tensors in TensorFlow Lite for Microcontrollers
constexpr char kPlanName[] = "OfflineMemoryAllocation";
constexpr size_t kShift = 64;  // keeps the alignment of everything in the file

// Operators whose reference kernels there ask for scratch memory: bytes for each element of an
// 8-bit output. It has no address in the file, but room in the plan; else it would come on top.
struct ScratchRow {
  tflite::BuiltinOperator code;
  int64_t bytes;
};
constexpr ScratchRow kScratchRows[] = {
    {tflite::BuiltinOperator::MEAN, 4},
    {tflite::BuiltinOperator::SUM, 4},
    {tflite::BuiltinOperator::TRANSPOSE_CONV, 4},
};

// The fields of a model, by number. All but the version are offsets.
constexpr size_t kVersion = 0, kBuffers = 4, kMetadata = 6, kModelFields = 10;

// A FlatBuffer that is placed before another and refers to its parts. Offsets reach only forward.
class Front {
 public:
  size_t size() const { return bytes_.size(); }
  template <typename T>
  size_t Put(T value) {
    bytes_.resize((bytes_.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T));
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
    return at;
  }
  template <typename T>
  void Set(size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
  }
  // Makes the offset at `from` refer to a place in this front.
  void Refer(size_t from, size_t to) { Set<uint32_t>(from, static_cast<uint32_t>(to - from)); }
  // Makes it refer to a place in the file after it, once the front is complete.
  void ReferBehind(size_t from, size_t to) { behind_.emplace_back(from, to); }

  // Writes a table whose present fields are 32 bits, by number; returns their places.
  std::vector<size_t> Table(const std::vector<bool>& present) {
    const size_t vtable = Put<uint16_t>(static_cast<uint16_t>(4 + 2 * present.size()));
    const auto count = std::count(present.begin(), present.end(), true);
    Put<uint16_t>(static_cast<uint16_t>(4 + 4 * count));
    uint16_t next = 4;
    for (const bool field : present) {
      Put<uint16_t>(field ? next : 0);
      next = static_cast<uint16_t>(next + (field ? 4 : 0));
    }
    table_ = Put<int32_t>(0);
    Set<int32_t>(table_, static_cast<int32_t>(table_ - vtable));
    std::vector<size_t> places;
    for (const bool field : present) places.push_back(field ? Put<uint32_t>(0) : 0);
    return places;
  }
  size_t table() const { return table_; }  // the last one

  std::string Before(absl::Span<const uint8_t> file) && {
    bytes_.resize((bytes_.size() + kShift - 1) / kShift * kShift);
    for (const auto& [from, to] : behind_) Refer(from, bytes_.size() + to);
    bytes_.append(file.begin(), file.end());
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
  size_t table_ = 0;
  std::vector<std::pair<size_t, size_t>> behind_;
};

// Returns the place of what an offset in the file refers to.
size_t TargetOf(absl::Span<const uint8_t> file, const uint8_t* offset) {
  return static_cast<size_t>(offset - file.data()) +
         flatbuffers::ReadScalar<flatbuffers::uoffset_t>(offset);
}

// Returns the places of a vector's tables.
template <typename T>
std::vector<size_t> TablesOf(absl::Span<const uint8_t> file,
                             const flatbuffers::Vector<flatbuffers::Offset<T>>* vector) {
  std::vector<size_t> places;
  for (flatbuffers::uoffset_t i = 0; vector != nullptr && i < vector->size(); ++i) {
    places.push_back(
        static_cast<size_t>(reinterpret_cast<const uint8_t*>(vector->Get(i)) - file.data()));
  }
  return places;
}

// Version 1, of subgraph 0: the offset of each tensor; -1 leaves its place open.
std::vector<int32_t> PlanOf(const TfliteBuffers& buffers, absl::Span<const int64_t> offsets) {
  std::vector<int32_t> plan = {1, 0, buffers.num_tensors};
  plan.resize(plan.size() + static_cast<size_t>(buffers.num_tensors), -1);
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (buffers.problem.buffers[i].id == TfliteBuffers::kScratch) continue;
    plan[3 + static_cast<size_t>(buffers.problem.buffers[i].id)] = static_cast<int32_t>(offsets[i]);
  }
  return plan;
}

}  // namespace

absl::StatusOr<TfliteBuffers> BuffersOfTflite(absl::Span<const uint8_t> bytes,
                                              const std::string& name) {
  const absl::StatusOr<TfliteFile> file = TfliteFile::Open(bytes, nullptr);
  if (!file.ok()) return Annotate(file.status(), name);
  const tflite::SubGraph& graph = file->graph();
  const int64_t end = int64_t{graph.operators()->size()} + 2;
  struct Life {
    int64_t begin = -1, end = 0;
  };
  std::vector<Life> lives(static_cast<size_t>(file->num_tensors()));
  const auto use = [&](const flatbuffers::Vector<int32_t>* tensors, int64_t step, bool makes) {
    for (const int64_t tensor : IntsOf(tensors)) {
      if (tensor < 0) continue;
      Life& life = lives[static_cast<size_t>(tensor)];
      if (makes && life.begin < 0) life.begin = step;
      life.end = std::max(life.end, step + 1);
    }
  };
  use(graph.inputs(), 0, true);
  for (flatbuffers::uoffset_t i = 0; i < graph.operators()->size(); ++i) {
    use(graph.operators()->Get(i)->outputs(), i + 1, true);
    use(graph.operators()->Get(i)->inputs(), i + 1, false);
  }
  use(graph.outputs(), end - 1, false);
  TfliteBuffers buffers;
  buffers.num_tensors = file->num_tensors();
  for (int i = 0; i < file->num_tensors(); ++i) {
    const Life& life = lives[static_cast<size_t>(i)];
    if (life.begin < 0 || file->is_constant(i) || file->tensor(i).is_variable()) continue;
    const absl::StatusOr<TensorType> type = file->TypeOf(i);
    if (!type.ok()) return Annotate(type.status(), name);
    memory::Buffer buffer;
    buffer.id = i;
    buffer.lower = life.begin;
    buffer.upper = life.end;
    buffer.size = type->bytes();
    buffer.alignment = kAlignment;
    buffers.problem.buffers.push_back(buffer);
    buffers.names.push_back(NameOfTflite(*file, i));
  }
  for (flatbuffers::uoffset_t i = 0; i < graph.operators()->size(); ++i) {
    const tflite::Operator& op = *graph.operators()->Get(i);
    for (const ScratchRow& row : kScratchRows) {
      if (row.code != file->code(op) || op.outputs() == nullptr) continue;
      for (const int32_t output : *op.outputs()) {
        const absl::StatusOr<TensorType> type = file->TypeOf(output);
        if (!type.ok() || SizeOf(type->dtype) != 1) continue;
        buffers.problem.buffers.push_back({TfliteBuffers::kScratch, i + 1, i + 2,
                                           row.bytes * type->bytes(), kAlignment, std::nullopt});
        buffers.names.push_back(absl::StrCat("scratch of operator ", i));
      }
    }
  }
  return buffers;
}

absl::StatusOr<std::string> WithOfflinePlan(absl::Span<const uint8_t> bytes,
                                            const std::string& name, const TfliteBuffers& buffers,
                                            absl::Span<const int64_t> offsets) {
  const absl::StatusOr<TfliteFile> file = TfliteFile::Open(bytes, nullptr);
  if (!file.ok()) return Annotate(file.status(), name);
  const tflite::Model& model = file->model();
  for (flatbuffers::uoffset_t i = 0; model.buffers() != nullptr && i < model.buffers()->size();
       ++i) {
    if (model.buffers()->Get(i)->offset() <= 1) continue;
    return absl::UnimplementedError(
        absl::StrCat(name, ": buffer ", i, " has its data after the FlatBuffer"));
  }
  for (const int64_t offset : offsets) {
    if (offset <= std::numeric_limits<int32_t>::max()) continue;
    return Reject(name, ": offset ", offset, " does not fit 32 bits");
  }
  const auto& table = reinterpret_cast<const flatbuffers::Table&>(model);
  std::vector<const uint8_t*> fields(kModelFields);
  for (size_t i = 0; i < kModelFields; ++i) {
    const auto at = table.GetOptionalFieldOffset(static_cast<flatbuffers::voffset_t>(4 + 2 * i));
    if (at != 0) fields[i] = reinterpret_cast<const uint8_t*>(&table) + at;
  }
  Front front;
  const size_t root = front.Put<uint32_t>(0);
  for (const char c : {'T', 'F', 'L', '3'}) front.Put(c);
  std::vector<bool> present;
  for (const uint8_t* field : fields) present.push_back(field != nullptr);
  present[kVersion] = present[kBuffers] = present[kMetadata] = true;
  const std::vector<size_t> places = front.Table(present);
  front.Refer(root, front.table());
  front.Set<uint32_t>(places[kVersion], model.version());
  for (size_t i = 1; i < kModelFields; ++i) {
    if (i == kBuffers || i == kMetadata || fields[i] == nullptr) continue;
    front.ReferBehind(places[i], TargetOf(bytes, fields[i]));
  }
  // The vectors of buffers and metadata, with one more element each.
  const auto vector = [&](size_t field, const std::vector<size_t>& tables) {
    const size_t at = front.Put<uint32_t>(static_cast<uint32_t>(tables.size() + 1));
    front.Refer(places[field], at);
    for (const size_t to : tables) front.ReferBehind(front.Put<uint32_t>(0), to);
    return front.Put<uint32_t>(0);
  };
  std::vector<size_t> old_buffers = TablesOf(bytes, model.buffers()), old_metadata;
  const std::vector<size_t> all_metadata = TablesOf(bytes, model.metadata());
  for (size_t i = 0; i < all_metadata.size(); ++i) {
    const auto* const entry = model.metadata()->Get(static_cast<flatbuffers::uoffset_t>(i));
    const bool plan = entry->name() != nullptr && entry->name()->str() == kPlanName;
    if (!plan) old_metadata.push_back(all_metadata[i]);
  }
  const size_t new_buffer = vector(kBuffers, old_buffers);
  const size_t new_metadata = vector(kMetadata, old_metadata);
  const std::vector<size_t> entry = front.Table({true, true});
  front.Refer(new_metadata, front.table());
  front.Set<uint32_t>(entry[1], static_cast<uint32_t>(old_buffers.size()));
  const std::string plan_name = kPlanName;
  front.Refer(entry[0], front.Put<uint32_t>(static_cast<uint32_t>(plan_name.size())));
  for (const char c : plan_name) front.Put(c);
  front.Put<char>(0);
  const std::vector<size_t> buffer = front.Table({true});
  front.Refer(new_buffer, front.table());
  const std::vector<int32_t> plan = PlanOf(buffers, offsets);
  while ((front.size() + sizeof(uint32_t)) % kAlignment != 0) front.Put<char>(0);
  front.Refer(buffer[0], front.Put<uint32_t>(static_cast<uint32_t>(4 * plan.size())));
  for (const int32_t number : plan) front.Put(number);
  return std::move(front).Before(bytes);
}

}  // namespace ashlar
