#ifndef ASHLAR_TESTS_SUPPORT_SHARED_DATA_H_
#define ASHLAR_TESTS_SUPPORT_SHARED_DATA_H_

#include <string>

namespace ashlar::testing {

// The root of the source tree.
std::string SourceFolder();

// The path of a file of the outside data set, whether or not it is there: below the folder that the
// environment variable ASHLAR_SHARED names, or else below ../shared beside the sources.
std::string SharedData(const std::string& relative);
bool HasSharedData(const std::string& relative);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_SHARED_DATA_H_
