#include "tools/picture_options.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/parse.h"
#include "graph/status.h"
#include "tools/option_kinds.h"

namespace ashlar {
namespace {

struct Resizing {
  PictureFit::Scaling scaling = PictureFit::Scaling::kNone;
  PictureSize size;  // if kShorterSide, both are the shorter side
};

// Parses "224", a square, or "224x256".
absl::StatusOr<PictureSize> ParsePictureSize(absl::string_view text) {
  const absl::StatusOr<Shape> shape = ParseShape(text);
  if (!shape.ok() || shape->rank() < 1 || shape->rank() > 2 || shape->num_elements() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text.substr(0, 40), "' is not a number of pixels, such as 224 or 224x320"));
  }
  const PictureSize size = {(*shape)[0], (*shape)[shape->rank() - 1]};
  ASHLAR_RETURN_IF_ERROR(CheckPictureSize(size, "a picture"));
  return size;
}

absl::StatusOr<std::optional<PictureSize>> ParseCrop(absl::string_view text) {
  ASHLAR_ASSIGN_OR_RETURN(const PictureSize size, ParsePictureSize(text));
  return std::optional<PictureSize>(size);
}

absl::StatusOr<Resizing> ParseResizing(absl::string_view text) {
  if (text == "stretch") return Resizing{PictureFit::Scaling::kStretch, {}};
  const absl::StatusOr<PictureSize> size = ParsePictureSize(text);
  if (!size.ok()) return Annotate(size.status(), "expected stretch or pixels");
  const bool shorter_side = text.find_first_of("x,") == absl::string_view::npos;
  return Resizing{shorter_side ? PictureFit::Scaling::kShorterSide : PictureFit::Scaling::kTo,
                  *size};
}

absl::StatusOr<bool> ParseColor(absl::string_view text) {
  return ParseName<bool>(text, {{"rgb", false}, {"bgr", true}});
}

}  // namespace

void AddPictureFlags(CLI::App& app, PictureFlags& flags) {
  const auto store = [&flags](const std::string& text) {
    const absl::StatusOr<Resizing> resizing = ParseResizing(text);
    if (!resizing.ok()) {
      throw CLI::ValidationError("--resize", std::string(resizing.status().message()));
    }
    flags.fit.scaling = resizing->scaling;
    flags.fit.scaled = resizing->size;
    flags.fit.shorter_side = resizing->size.height;
  };
  CLI::Option* const resize =
      app.add_option_function<std::string>("--resize", store,
                                           "scale: the shorter side to N pixels, both sides, or to "
                                           "the input's size whatever the proportions")
          ->option_text("N|HxW|stretch")
          ->group(kUnlistedGroup);
  CLI::Option* const crop = AddParsed(app, "--crop", flags.fit.crop, ParseCrop, "N|HxW",
                                      "then cut this out of the middle")
                                ->group(kUnlistedGroup);
  CLI::Option* const letterbox =
      app.add_flag_callback(
             "--letterbox", [&flags] { flags.fit.scaling = PictureFit::Scaling::kLetterbox; },
             "scale to fit into the input, proportions kept, in the middle of grey")
          ->option_text(" ")
          ->excludes(resize)
          ->excludes(crop)
          ->group(kUnlistedGroup);
  AddNumber(app, "--fill", flags.fit.grey, 0, 255, "that grey (default 114)")
      ->needs(letterbox)
      ->group(kUnlistedGroup);
  AddParsed(app, "--color", flags.bgr, ParseColor, "rgb|bgr", "order of the channels (default rgb)")
      ->group(kUnlistedGroup);
}

bool AnyGiven(const PictureFlags& flags) {
  return flags.bgr || flags.fit.crop || flags.fit.scaling != PictureFit::Scaling::kNone;
}

}  // namespace ashlar
