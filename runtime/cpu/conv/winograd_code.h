// The code of winograd_tile.h, for any width of vectors. Included by one file per instruction set.
// Each transform goes down the columns first, then along the rows of the result.
#ifndef ASHLAR_RUNTIME_CPU_CONV_WINOGRAD_CODE_H_
#define ASHLAR_RUNTIME_CPU_CONV_WINOGRAD_CODE_H_

#include "runtime/cpu/conv/vector_code.h"
#include "runtime/cpu/conv/winograd_tile.h"

namespace ashlar::cpu {
namespace {

// The one-dimensional transforms of F(m, 3).
template <typename Vector, int kOutputs>
struct Winograd1d;

template <typename Vector>
struct Winograd1d<Vector, 2> {
  [[gnu::always_inline]] static void Input(const Vector (&d)[4], Vector (&v)[4]) {
    v[0] = d[0] - d[2];
    v[1] = d[1] + d[2];
    v[2] = d[2] - d[1];
    v[3] = d[3] - d[1];
  }
  [[gnu::always_inline]] static void Output(const Vector (&m)[4], Vector (&y)[2]) {
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] + m[3];
  }
};

// The powers of the interpolation points of F(m, 3), m > 2.
template <int kOutputs>
struct WinogradPowers {
  static constexpr WinogradPoints kPoints = kOutputs == 3 ? kWinogradPoints3 : kWinogradPoints4;
  static constexpr double a = kPoints.a, b = kPoints.b;
  static constexpr float kA = a, kB = b, kA2 = a * a, kB2 = b * b, kA3 = a * a * a, kB3 = b * b * b,
                         kSum = a * a + b * b, kProduct = a * a * b * b;
};

template <typename Vector>
struct Winograd1d<Vector, 3> : WinogradPowers<3> {
  [[gnu::always_inline]] static void Input(const Vector (&d)[5], Vector (&v)[5]) {
    const Vector odd_a = d[3] - kB2 * d[1], even_a = kA * (d[2] - kB2 * d[0]);
    const Vector odd_b = d[3] - kA2 * d[1], even_b = kB * (d[2] - kA2 * d[0]);
    v[0] = odd_a + even_a;
    v[1] = odd_a - even_a;
    v[2] = odd_b + even_b;
    v[3] = odd_b - even_b;
    v[4] = (d[4] - kSum * d[2]) + kProduct * d[0];
  }
  [[gnu::always_inline]] static void Output(const Vector (&m)[5], Vector (&y)[3]) {
    const Vector even_a = m[0] + m[1], even_b = m[2] + m[3];
    y[0] = even_a + even_b;
    y[1] = kA * (m[0] - m[1]) + kB * (m[2] - m[3]);
    y[2] = (m[4] + kA2 * even_a) + kB2 * even_b;
  }
};

template <typename Vector>
struct Winograd1d<Vector, 4> : WinogradPowers<4> {
  [[gnu::always_inline]] static void Input(const Vector (&d)[6], Vector (&v)[6]) {
    const Vector even_a = d[4] - kB2 * d[2], odd_a = d[3] - kB2 * d[1];
    const Vector even_b = d[4] - kA2 * d[2], odd_b = d[3] - kA2 * d[1];
    v[0] = (d[4] - kSum * d[2]) + kProduct * d[0];
    v[1] = even_a + kA * odd_a;
    v[2] = even_a - kA * odd_a;
    v[3] = even_b + kB * odd_b;
    v[4] = even_b - kB * odd_b;
    v[5] = (d[5] - kSum * d[3]) + kProduct * d[1];
  }
  [[gnu::always_inline]] static void Output(const Vector (&m)[6], Vector (&y)[4]) {
    const Vector even_a = m[1] + m[2], odd_a = m[1] - m[2];
    const Vector even_b = m[3] + m[4], odd_b = m[3] - m[4];
    y[0] = m[0] + even_a + even_b;
    y[1] = kA * odd_a + kB * odd_b;
    y[2] = kA2 * even_a + kB2 * even_b;
    y[3] = (m[5] + kA3 * odd_a) + kB3 * odd_b;
  }
};

template <int kWidth, int kOutputs>
struct WinogradRunner {
  using Base = Vectors<kWidth>;
  using Float16 = Float16Vectors<kWidth>;
  using Vector = typename Base::Vector;
  using OneDimension = Winograd1d<Vector, kOutputs>;
  static constexpr int kInputs = kOutputs + 2;

  // Transforms vector `index` of the block.
  template <typename Format, bool kInside>
  [[gnu::always_inline]] static void TransformInput(const WinogradInput& patch, int index) {
    const int offset = index * Base::kBytes;
    Vector half[kInputs][kInputs];  // [column][row]
    for (int column = 0; column < kInputs; ++column) {
      const char* const from = patch.src + column * patch.column_step + index * Format::kBytes;
      const bool column_inside =
          kInside || (column >= patch.column_begin && column < patch.column_end);
      Vector d[kInputs];
#pragma GCC unroll 6
      for (int row = 0; row < kInputs; ++row) {
        const bool inside =
            kInside || (column_inside && row >= patch.row_begin && row < patch.row_end);
        d[row] = inside ? Format::Load(from + row * patch.row_step) : Vector{};
      }
      OneDimension::Input(d, half[column]);
    }
    for (int row = 0; row < kInputs; ++row) {
      Vector d[kInputs], v[kInputs];
#pragma GCC unroll 6
      for (int column = 0; column < kInputs; ++column) d[column] = half[column][row];
      OneDimension::Input(d, v);
      char* const to = patch.to + row * kInputs * patch.to_step + offset;
#pragma GCC unroll 6
      for (int column = 0; column < kInputs; ++column) {
        Base::Store(v[column], to + column * patch.to_step);
      }
    }
  }

  template <typename Format>
  static void InputFrom(const WinogradInput& patch) {
    const bool inside = patch.row_begin == 0 && patch.row_end == kInputs &&
                        patch.column_begin == 0 && patch.column_end == kInputs;
    for (int index = 0; index < kBlock / kWidth; ++index) {
      if (inside) {
        TransformInput<Format, true>(patch, index);
      } else {
        TransformInput<Format, false>(patch, index);
      }
    }
  }

  // Copies the patch: then the compiler knows that stores do not change it.
  static void Input(const WinogradInput& original) {
    const WinogradInput patch = original;
    if (patch.float16) {
      InputFrom<Float16>(patch);
    } else {
      InputFrom<Base>(patch);
    }
  }

  static void Output(const WinogradOutput& original) {
    const WinogradOutput patch = original;
    const int z_bytes = patch.float16_z ? Float16::kBytes : Base::kBytes;
    const int dst_bytes = patch.float16_dst ? Float16::kBytes : Base::kBytes;
    for (int index = 0; index < kBlock / kWidth; ++index) {
      const int offset = index * Base::kBytes;
      Vector half[kInputs][kOutputs];  // [column][row]
      for (int column = 0; column < kInputs; ++column) {
        const char* const from = patch.from + column * patch.from_step + offset;
        Vector m[kInputs];
#pragma GCC unroll 6
        for (int row = 0; row < kInputs; ++row) {
          m[row] = Base::Load(from + row * kInputs * patch.from_step);
        }
        OneDimension::Output(m, half[column]);
      }
      const Vector bias = Base::Load(reinterpret_cast<const char*>(patch.bias) + offset);
      for (int row = 0; row < patch.rows; ++row) {
        Vector m[kInputs], y[kOutputs];
#pragma GCC unroll 6
        for (int column = 0; column < kInputs; ++column) m[column] = half[column][row];
        OneDimension::Output(m, y);
        const char* const z = patch.z + row * patch.z_row_step + index * z_bytes;
#pragma GCC unroll 4
        for (int column = 0; column < kOutputs; ++column) {
          y[column] += bias;
          if (patch.z != nullptr && column < patch.columns) {
            const char* const from = z + column * patch.z_column_step;
            y[column] += patch.float16_z ? Float16::Load(from) : Base::Load(from);
          }
        }
        Base::Finish(patch.finish, y);
        char* const dst = patch.dst + row * patch.dst_row_step + index * dst_bytes;
#pragma GCC unroll 4
        for (int column = 0; column < kOutputs; ++column) {
          if (column >= patch.columns) continue;
          char* const to = dst + column * patch.dst_column_step;
          if (patch.float16_dst) {
            Float16::Store(y[column], to);
          } else {
            Base::Store(y[column], to);
          }
        }
      }
    }
    if (patch.channels == kBlock) return;
    for (int row = 0; row < patch.rows; ++row) {
      for (int column = 0; column < patch.columns; ++column) {
        char* const block = patch.dst + row * patch.dst_row_step + column * patch.dst_column_step;
        if (patch.float16_dst) {
          Float16::ClearPadding(patch.channels, block);
        } else {
          Base::ClearPadding(patch.channels, block);
        }
      }
    }
  }
};

template <int kWidth>
consteval WinogradCodes MakeWinogradCodes() {
  WinogradCodes codes = {};
  if constexpr (kRunsVectorsOf<kWidth>) {
    codes.of[2] = {WinogradRunner<kWidth, 2>::Input, WinogradRunner<kWidth, 2>::Output};
    codes.of[3] = {WinogradRunner<kWidth, 3>::Input, WinogradRunner<kWidth, 3>::Output};
    codes.of[4] = {WinogradRunner<kWidth, 4>::Input, WinogradRunner<kWidth, 4>::Output};
  }
  return codes;
}

}  // namespace
}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_WINOGRAD_CODE_H_
