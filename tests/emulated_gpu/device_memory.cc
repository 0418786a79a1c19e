// Maps each allocation by itself, between protected pages, and never reuses its addresses. An
// allocation is aligned to exactly 256 bytes, which is all that cudaMalloc promises. The bytes
// between the allocation and the protected pages are checked when it is freed.
//
// The host may touch allocations only during device work. A protection key (pkeys(7)) opens and
// closes them by a write to a register. On processors without keys, a system call for each
// allocation does, which took half the time of the tests of convolutions.
#include "tests/emulated_gpu/device_memory.h"

#include <cuda_runtime.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "tests/emulated_gpu/emulation.h"
#include "tests/emulated_gpu/runtime.h"

namespace ashlar::emulated {
namespace {

constexpr int64_t kPage = 4096, kAlignment = 256;
constexpr uint8_t kBorder = 0x5b, kGarbage = 0xcb;
constexpr int64_t kMostGarbage = int64_t{64} << 20;  // bytes; larger ones stay zero

// Returns the protection key of all allocations; -1 if the processor has none. A thread that does
// no device work may not touch their pages.
int Key() {
  static const int key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
  return key;
}

struct Block {
  char* pages = nullptr;
  int64_t page_bytes = 0, bytes = 0;
  int device = 0;
  Counted counted{"device memory"};

  char* data() const { return pages + kAlignment; }
  // Without a key: protects the pages.
  void Open(bool open) const {
    if (Key() >= 0) return;
    mprotect(pages, static_cast<size_t>(page_bytes), open ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
  template <typename Use>
  void UseBorders(const Use& use) const {
    use(pages, kAlignment);
    use(data() + bytes, page_bytes - kAlignment - bytes);
  }
};

struct Pinned {
  int64_t bytes = 0;
  bool registered = false;  // memory of the caller
  Counted counted{"pinned memory"};
};

// By address. Freed memory stays as a range without an owner.
std::map<const char*, std::unique_ptr<Block>> blocks;
std::map<const char*, int64_t> freed;
std::map<const char*, Pinned> pinned;
int64_t held[64] = {};  // bytes, by device
// The number of DeviceWork objects: of this thread if there is a key, otherwise of all.
int working_threads = 0;
thread_local int working_here = 0;
int& Working() { return Key() >= 0 ? working_here : working_threads; }

void OpenAll(bool open) {
  if (Key() >= 0) {
    pkey_set(Key(), open ? 0 : PKEY_DISABLE_ACCESS);
    return;
  }
  for (const auto& [address, block] : blocks) block->Open(open);
}

// Opens one allocation during its lifetime.
class OpenBlock {
 public:
  explicit OpenBlock(const Block& block) : block_(block) {
    if (Working() == 0) Open(true);
  }
  ~OpenBlock() {
    if (Working() == 0) Open(false);
  }
  OpenBlock(const OpenBlock&) = delete;
  OpenBlock& operator=(const OpenBlock&) = delete;

 private:
  void Open(bool open) const { Key() >= 0 ? OpenAll(open) : block_.Open(open); }
  const Block& block_;
};

// Returns the entry of a map by address whose range contains an address.
template <typename Map, typename Bytes>
auto Containing(Map& map, const char* address, const Bytes& bytes) {
  auto it = map.upper_bound(address);
  if (it == map.begin()) return map.end();
  --it;
  return address < it->first + bytes(it->second) ? it : map.end();
}

// Returns the reason against an allocation of `size` bytes, whose address goes to `pointer`.
cudaError_t AllocationError(const Call& call, const void* const* pointer, size_t size) {
  if (call.fails()) return cudaErrorMemoryAllocation;  // or the error of a dead device
  if (pointer == nullptr || size == 0) {
    call.Misuse("no place for the address, or no bytes");
    return cudaErrorInvalidValue;
  }
  return IsCapturing(call) ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

}  // namespace

DeviceWork::DeviceWork() {
  if (Working()++ == 0) OpenAll(true);
}

DeviceWork::~DeviceWork() {
  if (--Working() == 0) OpenAll(false);
}

Place Find(const void* data, int64_t bytes) {
  const char* const address = static_cast<const char*>(data);
  if (address == nullptr) return Place::kNowhere;
  const auto block = Containing(blocks, address, [](const auto& b) { return b->bytes; });
  if (block != blocks.end()) {
    return address + bytes <= block->first + block->second->bytes ? Place::kDevice
                                                                  : Place::kNowhere;
  }
  const auto host = Containing(pinned, address, [](const Pinned& p) { return p.bytes; });
  if (host != pinned.end()) {
    return address + bytes <= host->first + host->second.bytes ? Place::kPinned : Place::kNowhere;
  }
  const auto gone = Containing(freed, address, [](int64_t b) { return b; });
  return gone == freed.end() ? Place::kPageable : Place::kNowhere;
}

namespace {

// Returns false if no such memory begins there.
bool Unpin(const void* pointer, bool registered) {
  const auto it = pinned.find(static_cast<const char*>(pointer));
  if (it == pinned.end() || it->second.registered != registered) return false;
  pinned.erase(it);
  return true;
}

}  // namespace

int64_t FreeMemory() { return TheMachine().memory - TheMachine().others - held[CurrentDevice()]; }

}  // namespace ashlar::emulated

using namespace ashlar::emulated;

cudaError_t cudaMalloc(void** pointer, size_t size) {
  const Call call("cudaMalloc");
  if (const cudaError_t error = AllocationError(call, pointer, size); error != cudaSuccess) {
    return Failed(error);
  }
  const int64_t bytes = static_cast<int64_t>(size);
  if (bytes > FreeMemory()) return Failed(cudaErrorMemoryAllocation);
  auto block = std::make_unique<Block>();
  block->page_bytes = (kAlignment + bytes + kPage - 1) / kPage * kPage;
  void* const mapped = mmap(nullptr, static_cast<size_t>(block->page_bytes + 2 * kPage), PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) std::abort();
  block->pages = static_cast<char*>(mapped) + kPage;
  // A flag that the pages around it lack, so that the kernel neither splits nor joins mappings
  // whenever device work begins and ends: that took half the time of all tests of this device.
  madvise(block->pages, static_cast<size_t>(block->page_bytes), MADV_DONTDUMP);
  block->bytes = bytes;
  block->device = CurrentDevice();
  held[block->device] += bytes;
  pkey_mprotect(block->pages, static_cast<size_t>(block->page_bytes), PROT_READ | PROT_WRITE,
                Key());
  {
    const OpenBlock open(*block);
    if (bytes <= kMostGarbage) std::memset(block->data(), kGarbage, size);
    block->UseBorders([](char* border, int64_t count) {
      std::memset(border, kBorder, static_cast<size_t>(count));
    });
  }
  *pointer = block->data();
  blocks[block->data()] = std::move(block);
  return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
  const Call call("cudaFree");
  if (pointer == nullptr) return cudaSuccess;
  const auto it = blocks.find(static_cast<char*>(pointer));
  if (it == blocks.end()) {
    call.Misuse("not an address from cudaMalloc, or freed before");
    return Failed(cudaErrorInvalidValue);
  }
  if (IsCapturing(call)) return Failed(cudaErrorStreamCaptureUnsupported);
  const Block& block = *it->second;
  {
    const OpenBlock open(block);
    block.UseBorders([&](const char* border, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        if (static_cast<uint8_t>(border[i]) == kBorder) continue;
        call.Misuse("somebody wrote outside of this memory");
        return;
      }
    });
  }
  // The addresses stay reserved; the memory is released.
  static_cast<void>(mmap(block.pages, static_cast<size_t>(block.page_bytes), PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
  held[block.device] -= block.bytes;
  freed[block.data()] = block.bytes;
  blocks.erase(it);
  return call.fails() ? Failed(cudaErrorUnknown) : cudaSuccess;
}

cudaError_t cudaMallocHost(void** pointer, size_t size) {
  const Call call("cudaMallocHost");
  if (const cudaError_t error = AllocationError(call, pointer, size); error != cudaSuccess) {
    return Failed(error);
  }
  *pointer = std::malloc(size);
  std::memset(*pointer, kGarbage, size);
  pinned[static_cast<char*>(*pointer)].bytes = static_cast<int64_t>(size);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* pointer) {
  const Call call("cudaFreeHost");
  if (pointer == nullptr) return cudaSuccess;
  if (!Unpin(pointer, /*registered=*/false)) {
    call.Misuse("not an address from cudaMallocHost, or freed before");
    return Failed(cudaErrorInvalidValue);
  }
  if (IsCapturing(call)) return Failed(cudaErrorStreamCaptureUnsupported);
  std::free(pointer);
  return call.fails() ? Failed(cudaErrorUnknown) : cudaSuccess;
}

cudaError_t cudaHostRegister(void* pointer, size_t size, unsigned flags) {
  const Call call("cudaHostRegister");
  if (call.fails()) return Failed(cudaErrorMemoryAllocation);
  if (IsCapturing(call)) return Failed(cudaErrorStreamCaptureUnsupported);
  const char* const begin = static_cast<const char*>(pointer);
  const int64_t bytes = static_cast<int64_t>(size);
  if (begin == nullptr || bytes == 0 || flags != cudaHostRegisterPortable) {
    call.Misuse("no memory, or other flags than are emulated");
    return Failed(cudaErrorInvalidValue);
  }
  const Place place = Find(begin, bytes);
  const auto next = pinned.lower_bound(begin);
  if (place == Place::kPinned || (next != pinned.end() && next->first < begin + bytes)) {
    return Failed(cudaErrorHostMemoryAlreadyRegistered);
  }
  if (place != Place::kPageable) return Failed(cudaErrorInvalidValue);
  Pinned& entry = pinned[begin];
  entry.bytes = bytes;
  entry.registered = true;
  return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* pointer) {
  const Call call("cudaHostUnregister");
  if (IsCapturing(call)) return Failed(cudaErrorStreamCaptureUnsupported);
  if (!Unpin(pointer, /*registered=*/true)) {
    call.Misuse("not an address from cudaHostRegister, or given up before");
    return Failed(cudaErrorHostMemoryNotRegistered);
  }
  return call.fails() ? Failed(cudaErrorUnknown) : cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const Call call("cudaPointerGetAttributes");
  *attributes = {};
  if (call.fails()) return Failed(cudaErrorUnknown);
  switch (Find(pointer, 1)) {
    case Place::kDevice:
      attributes->type = cudaMemoryTypeDevice;
      break;
    case Place::kPinned:
      attributes->type = cudaMemoryTypeHost;
      break;
    default:
      attributes->type = cudaMemoryTypeUnregistered;
  }
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const Call call("cudaMemGetInfo");
  if (call.fails()) return Failed(cudaErrorUnknown);
  *free = static_cast<size_t>(FreeMemory());
  *total = static_cast<size_t>(TheMachine().memory);
  return cudaSuccess;
}

// Copies and fills of the default stream, after its earlier work. Streams that do not synchronise
// with it continue independently: their work is not finished for this.

cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind kind) {
  const Call call("cudaMemcpy");
  if (call.fails()) return Failed(cudaErrorUnknown);
  if (IsCapturing(call)) return Failed(cudaErrorStreamCaptureUnsupported);
  if (!AreCopied(call, to, from, static_cast<int64_t>(size), kind)) {
    return Failed(cudaErrorInvalidValue);
  }
  FinishDefaultStream();
  const DeviceWork work;
  std::memcpy(to, from, size);
  return cudaSuccess;
}

cudaError_t cudaMemset(void* data, int value, size_t size) {
  const Call call("cudaMemset");
  if (call.fails()) return Failed(cudaErrorUnknown);
  if (IsCapturing(call)) return Failed(cudaErrorStreamCaptureUnsupported);
  if (Find(data, static_cast<int64_t>(size)) != Place::kDevice) {
    call.Misuse("not memory of the device");
    return Failed(cudaErrorInvalidValue);
  }
  FinishDefaultStream();
  const DeviceWork work;
  std::memset(data, value, size);
  return cudaSuccess;
}
