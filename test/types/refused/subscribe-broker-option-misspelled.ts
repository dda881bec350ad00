import { Broker } from "../../../src/broker/broker.ts";
import type { ConnectionSource } from "../../../src/driver/connection.ts";

declare const source: ConnectionSource;

// expect: 'pollInterval' does not exist in type 'BrokerOptions<string>'
new Broker(source, { pollInterval: 5 });
