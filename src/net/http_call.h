// One HTTP request from an event loop, on a connection of its own. Loop's thread only.
//
//     CallHttp(loop, Endpoint::Tcp("10.0.0.7", 8080), {.target = "/v1/ping"}, 5s,
//              [&](Result<HttpResponse> answer) { ... });
#pragma once

#include <functional>

#include "base/result.h"
#include "base/units.h"
#include "net/endpoint.h"
#include "net/event_loop.h"
#include "net/http_client.h"

namespace muster {

// Calls `done` once, from the loop. Errors as HttpClient's; an answer is held whole, up to
// `max_answer`. `next_body_part` is not supported: the body is a string.
void CallHttp(EventLoop& loop, const Endpoint& endpoint, HttpClientRequest request, Duration limit,
              std::function<void(Result<HttpResponse>)> done, Bytes max_answer = MiB(16));

}  // namespace muster
