#ifndef ASHLAR_TESTS_SUPPORT_SHARED_DATA_H_
#define ASHLAR_TESTS_SUPPORT_SHARED_DATA_H_

#include <string>

namespace ashlar::testing {

// Returns the root of the source tree.
std::string SourceFolder();

// Returns the path of a file or folder of tests' data, whether or not it exists: below tests/ if it
// is there ("data/..."), otherwise in the external data set. That folder is the environment
// variable ASHLAR_SHARED, by default ../shared beside the sources.
std::string SharedData(const std::string& relative);
bool HasSharedData(const std::string& relative);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_SHARED_DATA_H_
