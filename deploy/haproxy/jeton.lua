-- Asks a gateway of jeton whether a request may pass: haproxy.cfg beside this file shows how it is used.
--
--   http-request lua.jeton
--
-- answers a request that may not pass with the gateway's own answer. Of one that may, the fields that tell the client of
-- its limits are put into variables, txn.jeton.ratelimit for RateLimit and so on, for haproxy.cfg to add to the answer.
-- When no gateway answers, the request passes, and txn.jeton.unavailable is true.
--
-- Needs HAProxy 2.6 or newer. The gateway is reached through a listener of this HAProxy's own, so that connections are
-- kept, and several gateways are checked and take turns.

local listener = "abns@jeton"
local patience = 1000 -- milliseconds, for all that it takes to get an answer

-- The fields in all forms that a gateway knows.
local told = {
	"ratelimit", "ratelimit-policy",
	"ratelimit-limit", "ratelimit-remaining", "ratelimit-reset",
	"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset",
}

-- What belongs to one connection or to the body, which stays here, and what only this proxy may say.
local kept_back = {
	["connection"] = true, ["keep-alive"] = true, ["proxy-connection"] = true, ["te"] = true, ["trailer"] = true,
	["transfer-encoding"] = true, ["upgrade"] = true, ["content-length"] = true, ["expect"] = true, ["host"] = true,
	["x-forwarded-for"] = true, ["x-forwarded-host"] = true, ["x-forwarded-method"] = true, ["x-forwarded-proto"] = true,
	["x-forwarded-uri"] = true, ["x-original-method"] = true, ["x-original-uri"] = true, ["forwarded"] = true,
}

-- question is the header with which the gateway is asked about a request.
local function question(txn)
	local header = {}
	for name, values in pairs(txn.http:req_get_headers()) do
		if not kept_back[name] then
			header[name] = {}
			for i = 0, #values do -- which begin at 0
				table.insert(header[name], values[i])
			end
		end
	end
	local host = txn.sf:req_hdr("host")
	header["host"] = { "jeton" }
	header["x-forwarded-host"] = { host }
	header["x-forwarded-method"] = { txn.sf:method() }
	header["x-forwarded-uri"] = { txn.sf:pathq() }
	header["x-forwarded-proto"] = { txn.sf:ssl_fc() == 1 and "https" or "http" }
	header["x-forwarded-for"] = { txn.sf:src() }
	return header
end

-- refuse sends the gateway's answer to the client instead of the application's.
local function refuse(txn, answer)
	local header = {}
	for name, values in pairs(answer.headers) do
		if not kept_back[name] then
			header[name] = {}
			for i = 0, #values do
				table.insert(header[name], values[i])
			end
		end
	end
	header["x-jeton-answer"] = nil
	local body = answer.body
	if txn.sf:method() == "HEAD" then
		body = ""
	end
	txn:done(txn:reply({ status = answer.status, reason = answer.reason, headers = header, body = body }))
end

core.register_action("jeton", { "http-req" }, function(txn)
	local answer = core.httpclient():get({
		url = "http://jeton/auth", dst = listener, headers = question(txn), timeout = patience,
	})
	-- HAProxy itself answers 503 or 504 when no gateway does; a gateway's answer bears the mark that haproxy.cfg sets.
	if answer.headers == nil or answer.headers["x-jeton-answer"] == nil then
		txn:set_var("txn.jeton.unavailable", true)
		return
	end
	if answer.status < 200 or answer.status > 299 then
		refuse(txn, answer)
		return
	end
	for _, name in ipairs(told) do
		local values = answer.headers[name]
		if values ~= nil then
			txn:set_var("txn.jeton." .. name:gsub("-", "_"), table.concat(values, ", ", 0))
		end
	end
end, 0)
