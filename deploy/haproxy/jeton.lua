-- Asks a gateway of jeton whether a request may pass: haproxy.cfg beside this file shows how it is used.
--
--   http-request lua.jeton
--
-- answers a request that may not pass with the gateway's own answer. Of one that may, txn.jeton.passes is true, and the
-- fields that tell the client of its limits are put into variables, txn.jeton.ratelimit for RateLimit and so on, for
-- haproxy.cfg to add to the answer. When no gateway answers, the request passes too, and txn.jeton.unavailable is true.
--
-- HAProxy lets a request go on when a program in Lua fails: so haproxy.cfg refuses what has no txn.jeton.passes.
--
-- Needs HAProxy 2.6 or newer. The gateway is reached through a listener of this HAProxy's own, so that connections are
-- kept, and several gateways are checked and take turns.

local listener = "abns@jeton"
local patience = 1000 -- milliseconds, for all that it takes to get an answer

-- How much of a request can be asked about: a longer one is answered 431. The question has to fit into a buffer, with what is
-- added to it, and into the fields that HAProxy reads: so these stay below tune.bufsize (16384) less 4000, and below
-- tune.http.maxhdr (101) less 20. Where those are greater, these may be.
local most_lines = 80
local most_bytes = 12000

-- The fields in all forms that a gateway knows.
local told = {
	"ratelimit", "ratelimit-policy",
	"ratelimit-limit", "ratelimit-remaining", "ratelimit-reset",
	"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset",
}

-- What HAProxy itself answers when no gateway does, or not in time.
local no_gateway = { [502] = true, [503] = true, [504] = true }

-- What belongs to one connection or to the body, which stays here, and what only this proxy may say.
local kept_back = {
	["connection"] = true, ["keep-alive"] = true, ["proxy-connection"] = true, ["te"] = true, ["trailer"] = true,
	["transfer-encoding"] = true, ["upgrade"] = true, ["content-length"] = true, ["expect"] = true, ["host"] = true,
	["x-forwarded-for"] = true, ["x-forwarded-host"] = true, ["x-forwarded-method"] = true, ["x-forwarded-proto"] = true,
	["x-forwarded-uri"] = true, ["x-original-method"] = true, ["x-original-uri"] = true, ["x-original-url"] = true,
	["forwarded"] = true, ["x-jeton-denial"] = true,
}

-- question is the header with which the gateway is asked about a request, nil when the request is too long to be asked about.
local function question(txn)
	local method, target = txn.sf:method(), txn.sf:pathq()
	local header, lines, bytes = {}, 0, #method + #target
	for name, values in pairs(txn.http:req_get_headers()) do
		for i = 0, #values do -- which begin at 0
			lines, bytes = lines + 1, bytes + #name + #values[i] + 4
		end
		if not kept_back[name] then
			header[name] = {}
			for i = 0, #values do
				table.insert(header[name], values[i])
			end
		end
	end
	-- The application takes the host of an absolute URL, http://host/path, if that is what was asked for.
	local host = txn.sf:url():match("^%a[%w+.-]*://([^/?#]*)") or txn.sf:req_hdr("host")
	if lines > most_lines or bytes + #host > most_bytes then
		return nil
	end
	header["host"] = { "jeton" }
	header["x-forwarded-host"] = { host }
	header["x-forwarded-method"] = { method }
	header["x-forwarded-uri"] = { target }
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
	local asked = question(txn)
	if asked == nil then
		txn:done(txn:reply({ status = 431, reason = "Request Header Fields Too Large" }))
		return
	end
	local answer = core.httpclient():get({
		url = "http://jeton/auth", dst = listener, headers = asked, timeout = patience,
	})
	-- A gateway's answer bears the mark that haproxy.cfg sets. Without it, the answer is HAProxy's own.
	if answer.headers == nil or answer.headers["x-jeton-answer"] == nil then
		if no_gateway[answer.status] then
			txn:set_var("txn.jeton.unavailable", true)
			txn:set_var("txn.jeton.passes", true)
			return
		end
		-- It did not like the question: that is the client's doing, who must not pass by it.
		txn:done(txn:reply({ status = 431, reason = "Request Header Fields Too Large" }))
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
	txn:set_var("txn.jeton.passes", true)
end, 0)
