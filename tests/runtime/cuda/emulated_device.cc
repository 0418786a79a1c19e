#include "tests/runtime/cuda/emulated_device.h"

#include <cstring>
#include <utility>

#include "graph/status.h"
#include "runtime/allocation_origin.h"

namespace ashlar::testing {
namespace {

class Block final : public DeviceMemory {
 public:
  Block(int64_t bytes, int64_t& allocated)
      : storage_(static_cast<size_t>(bytes) + 512), allocated_(allocated) {
    const auto address = reinterpret_cast<uintptr_t>(storage_.data());
    data_ = storage_.data() + (512 - address % 512) % 512;
    bytes_ = bytes;
    allocated_ += bytes;
  }
  ~Block() override { allocated_ -= bytes_; }

 private:
  std::vector<char> storage_;
  int64_t& allocated_;
};

}  // namespace

absl::Status EmulatedStream::CopyIn(void* device, const void* staging, int64_t bytes) {
  Enqueue([=] { std::memcpy(device, staging, static_cast<size_t>(bytes)); });
  return absl::OkStatus();
}

absl::Status EmulatedStream::CopyOut(void* staging, const void* device, int64_t bytes) {
  return CopyIn(staging, device, bytes);
}

absl::Status EmulatedStream::Wait() {
  const OriginScope scope(AllocationOrigin::kLibrary);
  if (recording_)
    return absl::FailedPreconditionError("a stream that records cannot be waited for");
  for (const Work& work : pending_) {
    work();
    ++done_;
  }
  pending_.clear();
  return absl::OkStatus();
}

absl::Status EmulatedStream::BeginRecording() {
  recording_ = true;
  recording_work_.clear();
  return absl::OkStatus();
}

absl::Status EmulatedStream::EndRecording() {
  recording_ = false;
  return absl::OkStatus();
}

absl::Status EmulatedStream::Replay() {
  const OriginScope scope(AllocationOrigin::kLibrary);
  pending_.insert(pending_.end(), recording_work_.begin(), recording_work_.end());
  ++EmulatedDevice::Install().replays;
  return absl::OkStatus();
}

absl::Status EmulatedStream::MakeMarks(int count) {
  marks_.resize(static_cast<size_t>(count));
  return absl::OkStatus();
}

absl::Status EmulatedStream::Mark(int index) {
  Enqueue([this, index] { marks_[static_cast<size_t>(index)] = done_; });
  return absl::OkStatus();
}

// A second for each piece of work.
absl::StatusOr<double> EmulatedStream::SecondsBetween(int first, int second) {
  return marks_[static_cast<size_t>(second)] - marks_[static_cast<size_t>(first)];
}

EmulatedDevice::EmulatedDevice() {
  cuda::RegisterCudaKernels(kernels_, {[this](const cuda::ConvProblem& problem) {
                                         return convolution_library
                                                    ? convolution_library(problem)
                                                    : absl::StatusOr<KernelList>(KernelList());
                                       },
                                       nullptr});
}

EmulatedDevice& EmulatedDevice::Install() {
  static EmulatedDevice* const device = new EmulatedDevice();
  RegisterDeviceType(CompNode::Type::kGpu,
                     [](const CompNode&) -> absl::StatusOr<Device*> { return device; });
  return *device;
}

absl::StatusOr<std::unique_ptr<DeviceMemory>> EmulatedDevice::Allocate(int64_t bytes) {
  if (bytes > capacity) return absl::ResourceExhaustedError("emulated device: too small");
  if (bytes > memory()->free) return absl::UnavailableError("emulated device: taken by others");
  return std::make_unique<Block>(bytes, allocated);
}

absl::StatusOr<std::unique_ptr<DeviceMemory>> EmulatedDevice::AllocateStaging(int64_t bytes) {
  return std::make_unique<Block>(bytes, staging);
}

}  // namespace ashlar::testing

namespace ashlar::cuda {
namespace {

using Work = std::function<void()>;

LaunchError Queue(void* stream, Work work) {
  static_cast<testing::EmulatedStream*>(stream)->Enqueue(std::move(work));
  return nullptr;
}

template <typename Call>
void WithReal(Scalar dtype, const Call& call) {
  if (dtype == Scalar::kFloat16) return call(Half());
  if (dtype == Scalar::kBFloat16) return call(BFloat16());
  call(float());
}

bool IsReal(Scalar dtype) { return dtype <= Scalar::kBFloat16; }

}  // namespace

LaunchError Launch(const ChainParams& p, void* stream) {
  return Queue(stream, [p] {
    WithReal(p.dtype, [&](auto type) {
      using T = decltype(type);
      for (int64_t i = 0; i < p.walk.extents.elements; ++i) {
        if (p.pack > 1) {
          ChainPackAt<T, 16 / sizeof(T)>(p, i);
        } else if (IsReal(p.dtype)) {
          ChainAt<float>(p, i);
        } else {
          ChainAt<double>(p, i);
        }
      }
    });
  });
}

LaunchError Launch(const ConvertParams& p, void* stream) {
  return Queue(stream, [p] {
    for (int64_t i = 0; i < p.walk.extents.elements; ++i) {
      if (p.pack == 1) {
        IsReal(p.from) && IsReal(p.to) ? ConvertAt<float>(p, i) : ConvertAt<double>(p, i);
      } else if (p.from == Scalar::kFloat32) {
        p.to == Scalar::kFloat16 ? ConvertPackAt<float, Half, 4>(p, i)
                                 : ConvertPackAt<float, BFloat16, 4>(p, i);
      } else {
        p.from == Scalar::kFloat16 ? ConvertPackAt<Half, float, 4>(p, i)
                                   : ConvertPackAt<BFloat16, float, 4>(p, i);
      }
    }
  });
}

LaunchError Launch(const CopyParams& p, void* stream) {
  return Queue(stream, [p] {
    struct Wide {
      uint64_t words[2];
    };
    for (int part = 0; part < p.parts; ++part) {
      for (int64_t i = 0; i < p.most_elements; ++i) {
        switch (p.element) {
          case 1:
            CopyAt<uint8_t>(p, part, i);
            break;
          case 2:
            CopyAt<uint16_t>(p, part, i);
            break;
          case 4:
            CopyAt<uint32_t>(p, part, i);
            break;
          case 8:
            CopyAt<uint64_t>(p, part, i);
            break;
          default:
            CopyAt<Wide>(p, part, i);
        }
      }
    }
  });
}

template <typename Word>
void Transpose(const TransposeParams& p) {
  Word tile[kTile][kTile + 1];
  const int64_t tiles = p.batch * TilesAcross(p.rows) * TilesAcross(p.columns);
  for (int64_t t = 0; t < tiles; ++t) {
    const TileOrigin origin = OriginOf(p, t);
    for (int y = 0; y < kTileRows; ++y) {
      for (int x = 0; x < kTile; ++x) ReadTile<Word>(p, origin, x, y, tile);
    }
    for (int y = 0; y < kTileRows; ++y) {
      for (int x = 0; x < kTile; ++x) WriteTile<Word>(p, origin, x, y, tile);
    }
  }
}

LaunchError Launch(const TransposeParams& p, void* stream) {
  return Queue(stream, [p] { p.element == 2 ? Transpose<uint16_t>(p) : Transpose<uint32_t>(p); });
}

LaunchError Launch(const WriteParams& p, void* stream) {
  return Queue(stream, [p] {
    for (int i = 0; i < p.count; ++i) WriteAt(p, i);
  });
}

LaunchError Launch(const PoolParams& p, void* stream) {
  return Queue(stream, [p] {
    WithReal(p.dtype, [&](auto type) {
      using T = decltype(type);
      for (int64_t i = 0; i < p.extents.elements; ++i) {
        p.pack > 1 ? PoolAt<T, 16 / sizeof(T)>(p, i) : PoolAt<T, 1>(p, i);
      }
    });
  });
}

LaunchError Launch(const LrnParams& p, void* stream) {
  return Queue(stream, [p] {
    for (int64_t i = 0; i < p.extents.elements; ++i) LrnAt(p, i);
  });
}

LaunchError Launch(const BatchNormParams& p, void* stream) {
  return Queue(stream, [p] {
    for (int64_t i = 0; i < p.elements; ++i) BatchNormAt(p, i);
  });
}

LaunchError Launch(const DirectConvParams& p, void* stream) {
  return Queue(stream, [p] {
    WithReal(p.dtype, [&](auto type) {
      for (int64_t i = 0; i < p.extents.elements; ++i) DirectConvAt<decltype(type)>(p, i);
    });
  });
}

LaunchError Launch(const ReduceParams& p, void* stream) {
  return Queue(stream, [p] {
    const bool real = IsReal(p.from) && IsReal(p.to);
    for (int64_t i = 0; i < p.kept.extents.elements; ++i) {
      real ? ReduceAt<float>(p, i, Alone()) : ReduceAt<double>(p, i, Alone());
    }
  });
}

LaunchError Launch(const SoftmaxParams& p, void* stream) {
  return Queue(stream, [p] {
    for (int64_t row = 0; row < p.rows; ++row) SoftmaxAt(p, row, Alone());
  });
}

LaunchError Launch(const MatrixParams& p, void* stream) {
  return Queue(stream, [p] {
    for (int64_t i = 0; i < p.batch.extents.elements * p.m * p.n; ++i) MatrixAt(p, i);
  });
}

LaunchError CopyBytes(void* to, const void* from, int64_t bytes, void* stream) {
  return Queue(stream, [=] { std::memcpy(to, from, static_cast<size_t>(bytes)); });
}

}  // namespace ashlar::cuda
