// Images and labels from which training fills its batches.
#ifndef ASHLAR_TOOLS_TRAINING_DATA_H_
#define ASHLAR_TOOLS_TRAINING_DATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "tools/console.h"
#include "tools/options.h"

namespace ashlar {

// The types of a batch.
struct BatchTypes {
  TensorType images;    // {batch, ...}, of any dtype
  TensorType labels;    // Int32 {batch}, or Float32 {batch, ...}
  int64_t classes = 0;  // class labels are below it; 0: labels are not classes
};

class TrainingData {
 public:
  // Reads training data at `path`:
  //   .npz     arrays `images` [count, ...] and `labels` [count]; images have the dimensions of the
  //            model's, except ones, or are rows of as many elements; --layout nhwc applies.
  //   a folder with a folder for each class, in the order of their names. Those hold pictures, each
  //            converted to an image as `run` does it, or .npy files.
  // --mean and --scale of `flags` are applied to arrays channel by channel. Errors have exit codes.
  static absl::StatusOr<TrainingData> Read(const std::string& path, const BatchTypes& types,
                                           const InputFlags& flags, Console& console);

  int64_t count() const { return count_; }
  // Returns the class names of a folder; none for arrays.
  const std::vector<std::string>& class_names() const { return class_names_; }
  // Copies these samples into the first places of a batch.
  void Fill(absl::Span<const int64_t> indices, void* images, void* labels) const;
  // Returns a class label.
  int32_t label(int64_t index) const { return static_cast<int32_t>(labels_.At(index)); }
  // Returns a checksum of all images and labels, so that a resumed training notices other data.
  uint64_t checksum() const;

 private:
  absl::Status ReadArrays(const std::string& path);
  absl::Status ReadFolder(const std::string& path, const InputFlags& flags, Console& console);
  absl::Status Check(const std::string& path, const InputFlags& flags);
  bool HaveLayout(bool last) const;

  BatchTypes types_;
  int64_t count_ = 0;
  int64_t image_elements_ = 0, label_elements_ = 1;
  HostTensor images_, labels_;
  std::vector<float> mean_, scale_;  // by channel; empty: images_ are used unchanged
  std::vector<std::string> class_names_;
};

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_TRAINING_DATA_H_
