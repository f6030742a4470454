// Where an attempt's {out} lies while it is written, and how it gets to its final place. The part
// is hidden and lies in the final folder, so that publishing is one rename:
//
//     /data/out/count/.j12.500-2-1f0e9d8c.7.part   ->   /data/out/count/7
//
// The name says whose it is (attempt, store) and where it goes, so that another executor can
// publish it when the one that ran the attempt is gone.
//
// A file replaces a file, a folder replaces a folder (exchanged in one step, then the old one is
// removed); a file never replaces a folder, nor a folder a file. Nothing is synced here: the data
// is as durable as any file the task closed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "executor/run_template.h"

namespace muster::executor {

struct OutputPlace {
  std::string cwd;
  std::string folder;
  std::string part;
  std::string final;
};

// Pure. Needs out_dir. Paths are absolute if cwd is.
OutputPlace PlaceOutput(const RunTemplate& what, std::string_view out_name, AttemptId attempt,
                        std::string_view store_id);
// The place of an attempt that somebody else ran, found by what lies in the folder. Nothing if
// there is no part of it.
std::optional<OutputPlace> FindOutput(const RunTemplate& what, AttemptId attempt,
                                      std::string_view store_id);

// What failed, in the form of the protocol; error_number 0: nothing.
struct FileFailure {
  int error_number = 0;
  std::string what_failed;
  bool ok() const { return error_number == 0; }
};

// Makes the folder. A cwd that is not there is not made: starting the program says what is wrong.
FileFailure MakeOutputFolder(const OutputPlace& place);
// Renames. `left_over`, if not empty afterwards, is an old folder to be removed at leisure.
FileFailure Publish(const OutputPlace& place, std::string& left_over);
// Removes the part if it is a file; `left_over` as above if it is a folder.
void Discard(const OutputPlace& place, std::string& left_over);

}  // namespace muster::executor
