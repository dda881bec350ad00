// What runs of the service's Nest. Its types are in peer.d.ts: Nest is not among the packages that the
// library itself is checked with.
export { Logger } from "@nestjs/common";
export { DiscoveryModule, DiscoveryService } from "@nestjs/core";
