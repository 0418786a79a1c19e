// The convolutions of ResNet-50, and memory for the tensors of programs that time them.
#ifndef ASHLAR_BENCHMARKS_RESNET50_LAYERS_H_
#define ASHLAR_BENCHMARKS_RESNET50_LAYERS_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace ashlar::benchmarks {

struct Layer {
  const char* name;
  int64_t in, out, size, window, stride;
  bool residual;
  int count;  // occurrences in ResNet-50
  int64_t groups = 1;
};

inline constexpr Layer kResNet50[] = {
    {"conv1 7x7 s2", 3, 64, 224, 7, 2, false, 1},
    {"s1 1x1 64-64", 64, 64, 56, 1, 1, false, 1},
    {"s1 1x1 256-64", 256, 64, 56, 1, 1, false, 2},
    {"s1 3x3 64", 64, 64, 56, 3, 1, false, 3},
    {"s1 1x1 64-256", 64, 256, 56, 1, 1, false, 1},
    {"s1 1x1 64-256+z", 64, 256, 56, 1, 1, true, 3},
    {"s2 1x1 256-128", 256, 128, 56, 1, 1, false, 1},
    {"s2 3x3 s2 128", 128, 128, 56, 3, 2, false, 1},
    {"s2 1x1 s2 256-512", 256, 512, 56, 1, 2, false, 1},
    {"s2 1x1 512-128", 512, 128, 28, 1, 1, false, 3},
    {"s2 3x3 128", 128, 128, 28, 3, 1, false, 3},
    {"s2 1x1 128-512+z", 128, 512, 28, 1, 1, true, 4},
    {"s3 1x1 512-256", 512, 256, 28, 1, 1, false, 1},
    {"s3 3x3 s2 256", 256, 256, 28, 3, 2, false, 1},
    {"s3 1x1 s2 512-1024", 512, 1024, 28, 1, 2, false, 1},
    {"s3 1x1 1024-256", 1024, 256, 14, 1, 1, false, 5},
    {"s3 3x3 256", 256, 256, 14, 3, 1, false, 5},
    {"s3 1x1 256-1024+z", 256, 1024, 14, 1, 1, true, 6},
    {"s4 1x1 1024-512", 1024, 512, 14, 1, 1, false, 1},
    {"s4 3x3 s2 512", 512, 512, 14, 3, 2, false, 1},
    {"s4 1x1 s2 1024-2048", 1024, 2048, 14, 1, 2, false, 1},
    {"s4 1x1 2048-512", 2048, 512, 7, 1, 1, false, 2},
    {"s4 3x3 512", 512, 512, 7, 3, 1, false, 2},
    {"s4 1x1 512-2048+z", 512, 2048, 7, 1, 1, true, 3},
};

struct Buffer {
  explicit Buffer(int64_t bytes) : bytes(bytes) {
    data = std::aligned_alloc(4096, (std::max<int64_t>(bytes, 1) + 4095) / 4096 * 4096);
    float* const values = static_cast<float*>(data);
    for (int64_t i = 0; i < bytes / 4; ++i) values[i] = static_cast<float>(i % 13 - 6) / 16;
  }
  ~Buffer() { std::free(data); }
  Buffer(const Buffer&) = delete;
  int64_t bytes;
  void* data;
};

}  // namespace ashlar::benchmarks

#endif  // ASHLAR_BENCHMARKS_RESNET50_LAYERS_H_
