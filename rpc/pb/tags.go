package pb

// The types of the fields that are read and written without protobuf.
const (
	typeVarint = 0
	typeBytes  = 2 // a text, or a message
)

// The tags of limiter.proto: the number of a field, shifted by 3, and its type. What reads a message and what writes it use the
// same tags. All are one byte, for numbers below 16, but the last ones of Limit and of Reservation: the reader takes longer ones, and of
// what is longer the writer writes the trace of a reservation alone, with appendLong.
const (
	tagChecks = 1<<3 + typeBytes // of CheckBatchRequest and CheckStreamRequest

	tagSettlements = 2<<3 + typeBytes // of CheckStreamRequest
	tagWithin      = 3<<3 + typeVarint
	tagGivenUp     = 4<<3 + typeVarint
	tagAllGivenUp  = 4<<3 + typeBytes // several of them, packed

	tagSettlementID = 1<<3 + typeVarint // of StreamSettlement
	tagSettlement   = 2<<3 + typeBytes

	tagSettledHold = 1<<3 + typeBytes // of SettleRequest
	tagUsed        = 2<<3 + typeVarint
	tagOpen        = 3<<3 + typeVarint
	tagForNs       = 4<<3 + typeVarint

	tagID    = 1<<3 + typeVarint // of StreamCheck
	tagCheck = 2<<3 + typeBytes
	tagTrace = 3<<3 + typeBytes

	tagKey       = 1<<3 + typeBytes // of CheckRequest
	tagLimits    = 2<<3 + typeBytes
	tagCost      = 3<<3 + typeVarint
	tagRequestID = 4<<3 + typeBytes
	tagReceipt   = 5<<3 + typeVarint
	tagLook      = 6<<3 + typeVarint
	tagExtend    = 7<<3 + typeVarint
	tagPlan      = 9<<3 + typeBytes
	tagWait      = 8<<3 + typeVarint
	tagHoldFor   = 10<<3 + typeVarint
	tagLeast     = 11<<3 + typeVarint
	tagLeaseAsk  = 12<<3 + typeBytes
	tagCharge    = 13<<3 + typeVarint
	tagReport    = 14<<3 + typeBytes

	tagReportEdge   = 1<<3 + typeVarint // of ReportRequest
	tagReportNumber = 2<<3 + typeVarint
	tagReportAge    = 3<<3 + typeVarint
	tagReportAsked  = 4<<3 + typeVarint

	tagLife     = 1<<3 + typeVarint // of LeaseRequest
	tagEdgeNow  = 2<<3 + typeVarint
	tagTerms    = 3<<3 + typeVarint
	tagEdgeName = 4<<3 + typeBytes
	tagEdgeHas  = 5<<3 + typeVarint
	tagEdgeID   = 6<<3 + typeVarint
	tagAfter    = 7<<3 + typeVarint

	tagName   = 1<<3 + typeBytes // of LimitRef
	tagInline = 2<<3 + typeBytes

	tagLimitName     = 1<<3 + typeBytes // of Limit
	tagAlgorithm     = 2<<3 + typeBytes
	tagCapacity      = 3<<3 + typeVarint
	tagRefill        = 4<<3 + typeBytes
	tagOnUnavailable = 5<<3 + typeBytes
	tagWindow        = 6<<3 + typeVarint
	tagPer           = 7<<3 + typeBytes
	tagTimezone      = 8<<3 + typeBytes
	tagAnchor        = 9<<3 + typeBytes
	tagWeighted      = 10<<3 + typeVarint
	tagLease         = 11<<3 + typeVarint
	tagMaxWait       = 12<<3 + typeVarint
	tagPenaltyAfter  = 13<<3 + typeVarint
	tagPenaltyFor    = 14<<3 + typeVarint
	tagPenaltyMax    = 15<<3 + typeVarint
	tagLongestHold   = 16<<3 + typeVarint
	tagOnExpiry      = 17<<3 + typeBytes
	tagMaxDebt       = 18<<3 + typeVarint
	tagReserve       = 19<<3 + typeVarint
	tagConsistency   = 20<<3 + typeBytes
	tagSync          = 21<<3 + typeVarint
	tagShare         = 22<<3 + typeBytes
	tagHot           = 23<<3 + typeBytes
	tagGauges        = 24<<3 + typeVarint

	tagTokens = 1<<3 + typeVarint // of Refill
	tagPerNs  = 2<<3 + typeVarint

	tagOnlyDecision = 1<<3 + typeBytes // of CheckResponse

	tagResults = 1<<3 + typeBytes // of CheckBatchResponse and CheckStreamResponse

	tagSettled      = 2<<3 + typeBytes // of CheckStreamResponse
	tagTableVersion = 3<<3 + typeVarint
	tagRefuses      = 4<<3 + typeVarint

	tagSettledID    = 1<<3 + typeVarint // of StreamSettled
	tagSettledDone  = 2<<3 + typeBytes
	tagSettledError = 3<<3 + typeBytes

	tagCharged       = 1<<3 + typeVarint // of SettleResponse
	tagReturned      = 2<<3 + typeVarint
	tagDebt          = 3<<3 + typeVarint
	tagUntil         = 4<<3 + typeVarint
	tagSettledLimits = 5<<3 + typeBytes

	tagSettledName   = 1<<3 + typeBytes // of SettledLimit
	tagState         = 2<<3 + typeBytes
	tagLimitCharged  = 3<<3 + typeVarint
	tagLimitReturned = 4<<3 + typeVarint
	tagLimitDebt     = 5<<3 + typeVarint
	tagLimitUntil    = 6<<3 + typeVarint

	tagResultID = 1<<3 + typeVarint // of StreamResult
	tagResult   = 2<<3 + typeBytes

	tagDecision = 1<<3 + typeBytes // of CheckResult
	tagError    = 2<<3 + typeBytes

	tagAllowed  = 1<<3 + typeVarint // of Decision
	tagOutcomes = 2<<3 + typeBytes
	tagDecided  = 3<<3 + typeBytes  // its receipts
	tagBegin    = 4<<3 + typeVarint // its wait
	tagHold     = 5<<3 + typeBytes
	tagGranted  = 6<<3 + typeVarint
	tagLeased   = 7<<3 + typeBytes
	tagReported = 8<<3 + typeBytes

	tagReportedSpent = 1<<3 + typeVarint // of Reported
	tagReportedNow   = 2<<3 + typeVarint
	tagReportedShare = 3<<3 + typeVarint
	tagScarce        = 4<<3 + typeVarint

	tagLeaseReceipt = 1<<3 + typeBytes // of Lease
	tagLeaseUntil   = 2<<3 + typeVarint
	tagLeaseNow     = 3<<3 + typeVarint

	tagOutcomeName    = 1<<3 + typeBytes // of Outcome
	tagOutcomeAllowed = 2<<3 + typeVarint
	tagNever          = 3<<3 + typeVarint
	tagLimit          = 4<<3 + typeVarint
	tagRemaining      = 5<<3 + typeVarint
	tagRetryAfter     = 6<<3 + typeVarint
	tagResetAfter     = 7<<3 + typeVarint
	tagOutcomePlan    = 8<<3 + typeBytes
	tagOverride       = 9<<3 + typeBytes
	tagClosed         = 10<<3 + typeVarint
	tagEnded          = 11<<3 + typeVarint
	tagHeldByEdges    = 12<<3 + typeVarint

	tagReturnKey = 1<<3 + typeBytes // of ReturnRequest
	tagReceipts  = 2<<3 + typeBytes

	tagReceiptLimit      = 1<<3 + typeBytes // of Receipt
	tagReceiptGeneration = 2<<3 + typeVarint
	tagSpan              = 3<<3 + typeBytes
	tagOwner             = 4<<3 + typeBytes
	tagSerial            = 5<<3 + typeVarint
	tagReuses            = 6<<3 + typeBytes
	tagPermit            = 7<<3 + typeVarint
	tagReturnFrom        = 8<<3 + typeVarint

	tagStart = 1<<3 + typeVarint // of Span
	tagEnd   = 2<<3 + typeVarint
)

// The tags of peer.proto.
const (
	tagReserveID     = 1<<3 + typeVarint // of ReserveRequest
	tagReserveNow    = 2<<3 + typeVarint
	tagReserveWriter = 3<<3 + typeBytes
	tagReservations  = 4<<3 + typeBytes

	tagSeq        = 1<<3 + typeVarint // of Reservation
	tagEpoch      = 2<<3 + typeVarint
	tagPartition  = 3<<3 + typeVarint
	tagOfKey      = 4<<3 + typeBytes
	tagOfLimit    = 5<<3 + typeBytes
	tagGeneration = 6<<3 + typeVarint
	tagFrom       = 7<<3 + typeVarint
	tagTo         = 8<<3 + typeVarint
	tagReach      = 9<<3 + typeVarint
	tagLedger     = 10<<3 + typeBytes
	tagOfInline   = 11<<3 + typeVarint
	tagLead       = 12<<3 + typeVarint
	tagExpire     = 13<<3 + typeVarint
	tagClaim      = 14<<3 + typeVarint
	tagDifference = 15<<3 + typeBytes
	tagTraceOf    = 16<<3 + typeBytes

	tagReservedID    = 1<<3 + typeVarint // of ReserveResponse
	tagAnswers       = 2<<3 + typeBytes
	tagReservedError = 3<<3 + typeBytes
	tagAccepted      = 4<<3 + typeVarint
	tagAcceptedSkew  = 5<<3 + typeVarint

	tagVerdict          = 1<<3 + typeVarint // of ReservationAnswer
	tagPosition         = 2<<3 + typeVarint
	tagAnswerGeneration = 3<<3 + typeVarint
	tagAnswerEpoch      = 4<<3 + typeVarint
	tagSkew             = 5<<3 + typeVarint
	tagVersion          = 6<<3 + typeVarint
	tagAnswerLedger     = 7<<3 + typeBytes
	tagIndex            = 8<<3 + typeVarint
	tagFloored          = 9<<3 + typeVarint
)
