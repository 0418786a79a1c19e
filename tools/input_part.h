// Reads one file of --input as a tensor for an input, or a part of it.
#ifndef ASHLAR_TOOLS_INPUT_PART_H_
#define ASHLAR_TOOLS_INPUT_PART_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/tensor.h"
#include "serialization/image.h"
#include "tools/console.h"
#include "tools/input_file.h"
#include "tools/options.h"

namespace ashlar {

class PartReader {
 public:
  // `steps`: the files hold several runs, one after the other.
  PartReader(const InputFlags& flags, bool steps, Console& console)
      : flags_(flags), steps_(steps), console_(console) {}

  // Reads a file that is no archive.
  absl::StatusOr<HostTensor> Read(const InputFile& file, const TensorType& type);
  // Returns an array in the graph's order of dimensions, with --mean and --scale applied.
  absl::StatusOr<HostTensor> Prepared(HostTensor array, const TensorType& type,
                                      const std::string& path);
  // Whether a file held a picture.
  bool read_pictures() const { return read_pictures_; }

 private:
  absl::StatusOr<HostTensor> FromPixels(const Pixels& pixels, const TensorType& type,
                                        const std::string& name);
  // Returns --mean and --scale; by default ImageNet's statistics, or none for an input of bytes.
  absl::StatusOr<ChannelOptions> Channels(DType dtype, const std::string& name) const;
  absl::StatusOr<HostTensor> ReadRaw(const InputFile& file, const TensorType& type);
  absl::StatusOr<HostTensor> WithStatistics(HostTensor array, const TensorType& type,
                                            const std::string& path) const;
  absl::Status CheckStatistics(int64_t channels, const std::string& path) const;

  const InputFlags& flags_;
  const bool steps_;
  Console& console_;
  bool read_pictures_ = false;
};

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_INPUT_PART_H_
