// The options for converting pictures to inputs.
#ifndef ASHLAR_TOOLS_PICTURE_OPTIONS_H_
#define ASHLAR_TOOLS_PICTURE_OPTIONS_H_

#include <CLI/App.hpp>

#include "serialization/picture_fit.h"

namespace ashlar {

struct PictureFlags {
  PictureFit fit;
  bool bgr = false;
};

void AddPictureFlags(CLI::App& app, PictureFlags& flags);

// Whether any of them differs from its default.
bool AnyGiven(const PictureFlags& flags);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_PICTURE_OPTIONS_H_
