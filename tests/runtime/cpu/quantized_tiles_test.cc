// Compares the tiles of 8-bit convolutions with sums of integers, for every instruction set that
// this processor has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "runtime/cpu/host_processor.h"
#include "runtime/cpu/quantized/tile.h"

namespace ashlar::cpu {
namespace {

class Numbers {
 public:
  int64_t Between(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(engine_);
  }
  template <typename T>
  std::vector<T> Bytes(int64_t count) {
    std::vector<T> bytes(static_cast<size_t>(count));
    for (T& byte : bytes) byte = static_cast<T>(Between(0, 255));
    return bytes;
  }

 private:
  std::mt19937 engine_{1};
};

struct Codes {
  std::string name;
  const TileCode* code;
};
std::vector<Codes> CodesHere() {
  std::vector<Codes> codes;
  for (const char* const name :
       {"neon", "avx2", "avx2_vnni", "avx512", "avx512_vnni", "amx_int8"}) {
    const Processor processor = *Processor::Parse(std::string(name) + "/32K/1M");
    const TileCode* const code = TileCodeFor(processor);
    if (code != nullptr && HostProcessor().Runs(processor)) codes.push_back({name, code});
  }
  return codes;
}

// Sums, factors and bounds of a call.
struct Rounds {
  std::vector<int32_t> start;
  std::vector<float> factors;
  RoundingSteps steps;
  ByteRounding rounding;

  Rounds(Numbers& numbers, int64_t channels, bool signed_output) {
    for (int64_t i = 0; i < channels; ++i) {
      start.push_back(static_cast<int32_t>(numbers.Between(-100000, 100000)));
      factors.push_back(static_cast<float>(numbers.Between(1, 100)) * 0x1p-14f);
    }
    const int32_t least = signed_output ? -128 : 0;
    const int32_t zero_point = least + static_cast<int32_t>(numbers.Between(0, 255));
    steps = RoundingBetween(least, least + 255, zero_point);
    rounding = ByteRounding(steps, signed_output, 1);
  }
};

// An image's byte as a step reads it, relative to the start of the sums.
int32_t ValueOf(const TileCode& code, uint8_t byte, bool is_signed) {
  return (is_signed ? static_cast<int8_t>(byte) : byte) + code.offset[is_signed];
}

TEST(QuantizedTilesTest, SumProductsExactly) {
  Numbers numbers;
  for (const auto& [name, code] : CodesHere()) {
    for (int round = 0; round < 300; ++round) {
      const int64_t pixels = numbers.Between(1, code->pixels);
      const int64_t panels = numbers.Between(1, code->panels);
      const int64_t channels = numbers.Between((panels - 1) * kPanel + 1, panels * kPanel);
      const int64_t taps = numbers.Between(1, 9), depth = numbers.Between(1, 40);
      const int64_t steps = (depth + kDepth - 1) / kDepth;
      const bool is_signed = round % 2 == 1, adds = round % 3 == 0;
      SCOPED_TRACE(::testing::Message() << name << ", " << pixels << " pixels, " << channels
                                        << " channels, " << taps << " taps, depth " << depth);
      const auto image = numbers.Bytes<uint8_t>(taps * pixels * depth);
      auto weights = numbers.Bytes<int8_t>(panels * taps * steps * kPanel * kDepth);
      std::vector<const uint8_t*> sources;
      for (int64_t i = 0; i < taps * pixels; ++i) sources.push_back(image.data() + i * depth);
      for (int64_t i = 0; i < static_cast<int64_t>(weights.size()); ++i) {  // of no channel
        const int64_t step = i / (kPanel * kDepth) % steps;
        if (step * kDepth + i % kDepth >= depth) weights[static_cast<size_t>(i)] = 0;
      }
      const Rounds own(numbers, panels * kPanel, round % 5 == 0);
      // Factors of 1/2 and 1/4 leave many sums at a half.
      const float of_z = round % 4 == 0 ? 0.175f : 0.3f;
      const float of_a = round % 4 == 0 ? 0.35f : 0.5f;
      const FixedPointSum fixed =
          round % 2 == 0 ? *FixedPointSum::Between(of_a, of_z, 0.7f) : FixedPointSum();
      const TileSum sum(-100, 100, of_a, of_z, 3, is_signed, 0.7f, fixed);
      const auto z = numbers.Bytes<uint8_t>(pixels * channels);
      std::vector<uint8_t> made(static_cast<size_t>(pixels * channels));
      std::vector<uint8_t*> dst;
      std::vector<const uint8_t*> addends;
      for (int64_t p = 0; p < pixels; ++p) {
        dst.push_back(made.data() + p * channels);
        addends.push_back(z.data() + p * channels);
      }
      const int64_t panel_step = taps * steps * kPanel * kDepth;
      code->run[is_signed][panels][pixels]({.taps = sources.data(),
                                            .num_taps = taps,
                                            .depth = depth,
                                            .weights = weights.data(),
                                            .panel_step = panel_step,
                                            .ahead = weights.data(),
                                            .ahead_step = 0,
                                            .start = own.start.data(),
                                            .factors = own.factors.data(),
                                            .rounding = own.rounding,
                                            .dst = dst.data(),
                                            .sum = adds ? &sum : nullptr,
                                            .z = addends.data(),
                                            .channel = 0,
                                            .channels = channels});
      for (int64_t p = 0; p < pixels; ++p) {
        for (int64_t c = 0; c < channels; ++c) {
          int32_t total = own.start[static_cast<size_t>(c)];
          for (int64_t tap = 0; tap < taps; ++tap) {
            for (int64_t d = 0; d < depth; ++d) {
              const int64_t at = c / kPanel * panel_step +
                                 ((tap * steps + d / kDepth) * kPanel + c % kPanel) * kDepth +
                                 d % kDepth;
              total +=
                  ValueOf(*code, sources[static_cast<size_t>(tap * pixels + p)][d], is_signed) *
                  weights[static_cast<size_t>(at)];
            }
          }
          float value = static_cast<float>(total) * own.factors[static_cast<size_t>(c)];
          if (adds) {
            value = sum.StepsOf(std::min(std::max(std::nearbyint(value), sum.low), sum.high),
                                addends[static_cast<size_t>(p)][c]);
          }
          ASSERT_EQ(dst[static_cast<size_t>(p)][c], static_cast<uint8_t>(Rounded(value, own.steps)))
              << "pixel " << p << ", channel " << c;
        }
      }
    }
  }
}

TEST(QuantizedTilesTest, SumEachChannelExactly) {
  Numbers numbers;
  for (const auto& [name, code] : CodesHere()) {
    for (int round = 0; round < 200; ++round) {
      // Windows of three by three that share columns, or any taps.
      const bool shares = round % 2 == 0, is_signed = round % 4 > 1;
      const int64_t channels = numbers.Between(1, code->depthwise_channels);
      const int64_t groups = shares ? kShared : numbers.Between(1, 4);
      const int64_t pixels = numbers.Between(1, 9), columns = pixels + kShared;
      const int64_t panels = (channels + kPanel - 1) / kPanel;
      SCOPED_TRACE(::testing::Message()
                   << name << ", " << pixels << " pixels, " << channels << " channels, " << groups
                   << " groups" << (shares ? ", shared" : ""));
      const auto image = numbers.Bytes<uint8_t>(kDepth * columns * channels + 64);
      auto weights = numbers.Bytes<int8_t>(panels * groups * kPanel * kDepth);
      std::vector<std::vector<const uint8_t*>> taps(static_cast<size_t>(pixels));
      std::vector<const uint8_t* const*> by_pixel;
      std::vector<int64_t> offset, shared;
      const int64_t steps[] = {channels, channels, channels};
      std::vector<const int64_t*> steps_of(static_cast<size_t>(pixels), steps);
      for (int64_t p = 0; p < pixels; ++p) {
        // All pixels of the row use the first one's addresses, shifted.
        for (int64_t group = 0; group < groups; ++group) {
          for (int64_t row = 0; row < kDepth; ++row) {
            taps[static_cast<size_t>(p)].push_back(
                image.data() +
                ((shares && row == kShared ? 0 : row * columns) + group % kShared) * channels);
          }
        }
        by_pixel.push_back(taps[static_cast<size_t>(p)].data());
        offset.push_back(p * channels);
        shared.push_back(pixels - p);
      }
      if (shares) {  // the fourth row has no weight
        for (size_t i = kShared; i < weights.size(); i += kDepth) weights[i] = 0;
      }
      const Rounds own(numbers, panels * kPanel + 64, round % 5 == 0);
      std::vector<uint8_t> made(static_cast<size_t>(pixels * channels));
      std::vector<uint8_t*> dst;
      for (int64_t p = 0; p < pixels; ++p) dst.push_back(made.data() + p * channels);
      const int64_t panel_step = groups * kPanel * kDepth;
      code->depthwise[is_signed]({.taps = by_pixel.data(),
                                  .offset = offset.data(),
                                  .shared = shares ? shared.data() : nullptr,
                                  .steps = steps_of.data(),
                                  .pixels = pixels,
                                  .groups = groups,
                                  .weights = weights.data(),
                                  .panel_step = panel_step,
                                  .start = own.start.data(),
                                  .factors = own.factors.data(),
                                  .rounding = own.rounding,
                                  .dst = dst.data(),
                                  .channel = 0,
                                  .channels = channels});
      for (int64_t p = 0; p < pixels; ++p) {
        for (int64_t c = 0; c < channels; ++c) {
          int32_t total = own.start[static_cast<size_t>(c)];
          for (int64_t tap = 0; tap < groups * kDepth; ++tap) {
            const int64_t at = c / kPanel * panel_step +
                               (tap / kDepth * kPanel + c % kPanel) * kDepth + tap % kDepth;
            const uint8_t byte = by_pixel[static_cast<size_t>(p)][tap][c + p * channels];
            total += ValueOf(*code, byte, is_signed) * weights[static_cast<size_t>(at)];
          }
          const float value = static_cast<float>(total) * own.factors[static_cast<size_t>(c)];
          ASSERT_EQ(dst[static_cast<size_t>(p)][c], static_cast<uint8_t>(Rounded(value, own.steps)))
              << "pixel " << p << ", channel " << c;
        }
      }
    }
  }
}

}  // namespace
}  // namespace ashlar::cpu
