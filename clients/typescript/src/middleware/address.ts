/**
 * The key of a client by its address, as a gateway's `ip:{ip}` has it: an IPv6 address counts by its first 64 bits, since a client has at
 * least as many addresses as there are others; IPv4 within IPv6 counts as IPv4. Undefined for what is no address.
 */
export function addressKey(address: string | undefined): string | undefined {
  if (address === undefined) return undefined;
  const v4 = /^(?:::ffff:)?(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(address);
  if (v4) return `ip:${v4[1]}`;
  const v6 = canonical(address.replace(/%.*$/, ""));
  if (v6 === undefined) return undefined;
  const [head = "", tail] = v6.split("::");
  const before = head ? head.split(":") : [];
  const after = tail ? tail.split(":") : [];
  const gap = tail === undefined ? 0 : 8 - before.length - after.length;
  const groups = [...before, ...Array<string>(gap).fill("0"), ...after];
  if (groups.slice(0, 5).every((g) => g === "0") && groups[5] === "ffff") {
    const [a, b] = groups.slice(6).map((g) => parseInt(g, 16)) as [number, number];
    return `ip:${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`;
  }
  return `ip:${canonical(`${groups.slice(0, 4).join(":")}::`)}/64`;
}

/** An IPv6 address in the form of RFC 5952. */
function canonical(address: string): string | undefined {
  try {
    return address.includes(":") ? new URL(`http://[${address}]/`).hostname.slice(1, -1) : undefined;
  } catch {
    return undefined;
  }
}
