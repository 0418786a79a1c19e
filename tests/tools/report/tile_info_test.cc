// Compares the geometry of tiles with a recorded tiled training run (../shared/data/tiling, and its
// backward pass in ../shared/data/training).
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/command/command_process.h"
#include "tests/support/shared_data.h"

namespace ashlar::testing {
namespace {

using nlohmann::json;

class TileInfoTest : public CommandTest {
 protected:
  // Returns tiles of the chain, from its input (operator 0) to pool2 (operator 16).
  json Tiles(const std::string& kind) {
    EXPECT_EQ(Ashlar("zoo tiling_chain -o chain.ash --quiet").exit_code, 0);
    const ProcessResult result =
        Ashlar("plan chain.ash --quiet --tile '0-16:" + kind + "' --tile-info tiles.json");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(Read("tiles.json"));
  }
};

TEST_F(TileInfoTest, EveryTileOfTheLoggedRunComesOutEqual) {
  std::ifstream file(SharedData("data/tiling/tiles.json"));
  const json logged = json::parse(file);
  const json tiles = Tiles("inputgrid4x4")["tiles"];
  ASSERT_EQ(tiles.size(), 16u);
  ASSERT_EQ(logged["tiles"].size(), 16u);
  int compared = 0;
  for (const json& expected : logged["tiles"]) {
    for (const json& tile : tiles) {
      if (tile["coord"] != expected["coord"]) continue;
      const auto compare = [&](const char* list, const std::vector<const char*>& fields) {
        ASSERT_EQ(tile[list].size(), expected[list].size());
        for (size_t i = 0; i < expected[list].size(); ++i) {
          EXPECT_EQ(tile[list][i]["name"], expected[list][i]["name"]);
          for (const char* field : fields) {
            EXPECT_EQ(tile[list][i][field], expected[list][i][field])
                << expected["coord"] << " " << list << " " << expected[list][i]["name"] << " "
                << field;
            ++compared;
          }
        }
      };
      compare("f_info", {"coord", "otileshape", "inpslidx", "padding", "internal", "realidx"});
      compare("b_info", {"otileshape", "inpslidx", "padding"});
    }
  }
  EXPECT_EQ(compared, 16 * 5 * 9);
}

// In the backward pass each tile owns a slice of the input's gradient. Compares the region of every
// gradient that depends on the slice. Also compares the slice's place in the gradient of the region
// that the first operator read.
TEST_F(TileInfoTest, EveryTileOfTheLoggedBackwardPassComesOutEqual) {
  constexpr char kRecord[] = "data/training/seed001_backward.json";
  std::ifstream file(SharedData(kRecord));
  const json logged = json::parse(file);
  const json tiles = Tiles("inputgrid4x4")["tiles"];
  ASSERT_EQ(logged["tiles"].size(), 16u);
  const auto named = [](const json& list, const std::string& name) {
    for (const json& entry : list) {
      if (entry["name"] == name) return entry;
    }
    ADD_FAILURE() << "no " << name;
    return json();
  };
  int compared = 0;
  for (const json& expected : logged["tiles"]) {
    const auto tile = std::find_if(tiles.begin(), tiles.end(), [&](const json& candidate) {
      return candidate["coord"] == expected["coord"];
    });
    ASSERT_NE(tile, tiles.end());
    for (const auto& [name, fields] : expected["operators"].items()) {
      const json entry = named((*tile)["b_info"], name);
      for (const auto& [field, value] : fields["printed"]["backward"].items()) {
        if (value.empty()) continue;
        EXPECT_EQ(entry[field], value) << expected["coord"] << " " << name << " " << field;
        ++compared;
      }
    }
    // Left, right, top, bottom; regions include both ends.
    const json read = named((*tile)["f_info"], "conv1")["inpslidx"],
               owned = named((*tile)["b_info"], "fake-bp")["inpslidx"];
    const auto apart = [&](int side) {
      return std::abs(owned[side].get<int>() - read[side].get<int>());
    };
    EXPECT_EQ(json({apart(0), apart(1), apart(2), apart(3)}), expected["crop_lrtb"]);
    const json& slice = expected["slice_rows_columns"];
    EXPECT_EQ(json({apart(2), apart(2) + owned[3].get<int>() - owned[2].get<int>() + 1}),
              slice["rows"]);
    EXPECT_EQ(json({apart(0), apart(0) + owned[1].get<int>() - owned[0].get<int>() + 1}),
              slice["columns"]);
    compared += 2;
  }
  EXPECT_EQ(compared, 288);
}

TEST_F(TileInfoTest, PartsInsideOfPartsNameTheOneAround) {
  const json document = Tiles("batch1(0-16:rows2)");
  ASSERT_EQ(document["tiles"].size(), 3u);
  EXPECT_EQ(document["tiles"][0]["outer"], -1);
  EXPECT_EQ(document["tiles"][1]["outer"], 0);
  EXPECT_EQ(document["tiles"][2]["outer"], 0);
  EXPECT_EQ(document["tiles"][2]["coord"], (json{1, 0}));
  // The lower half: rows 2 and 3 of pool2 need all rows from 3 on of conv2's input.
  EXPECT_EQ(document["tiles"][2]["f_info"][2]["inpslidx"], (json{0, 7, 3, 7}));
}

}  // namespace
}  // namespace ashlar::testing
