// Random nouns for tests: every field set to something, texts of any bytes. Defined in
// random_values_test.cc, so only tests have them.
#pragma once

#include <string>

#include "base/random.h"
#include "model/job_spec.h"
#include "model/view.h"
#include "wire/api_json.h"

namespace muster::test {

// Any bytes: letters, quotes, control characters, emoji, sometimes not UTF-8. Never a NUL.
std::string RandomText(Random& random);
// Passes CheckJobSpec and has no gpus, so that it may be submitted.
JobSpec RandomJobSpec(Random& random);
ExitFacts RandomExitFacts(Random& random);
AttemptView RandomAttemptView(Random& random);
TaskView RandomTaskView(Random& random);
TaskDetail RandomTaskDetail(Random& random);
JobView RandomJobView(Random& random);
WhyView RandomWhyView(Random& random);
ExecutorView RandomExecutorView(Random& random);
ServerView RandomServerView(Random& random);
ApiError RandomApiError(Random& random);

}  // namespace muster::test
