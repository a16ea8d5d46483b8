export { Client, type CallOptions, type ClientOptions, type HoldOptions, type Identified } from "./client.js";
export { AllDecision, Decision, type OnUnavailable, type Outcome, type Receipt } from "./decision.js";
export { JetonError, Unavailable, type Attempt, type Problem } from "./errors.js";
export type { OnFailure } from "./failure.js";
export { Hold, type ExtendHoldOptions, type Settled, type SettledLimit, type SettleOptions } from "./hold.js";
export type { Check, CheckOptions, Limit } from "./request.js";
