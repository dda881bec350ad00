import { describe, expect, test } from "vitest";
import { Routes } from "../../src/broker/routes.ts";
import { RouteError } from "../../src/errors.ts";

describe("72: routes", () => {
  test("an exact name comes first, then the longest prefix, then all", () => {
    const routes = new Routes<string>();
    routes.add("*", "all");
    routes.add("mail.*", "mail");
    routes.add("mail.bounced.*", "bounced");
    routes.add("mail.sent", "sent");
    expect(routes.find("mail.sent")).toBe("sent");
    expect(routes.find("mail.sent.twice")).toBe("mail");
    expect(routes.find("mail.bounced.hard")).toBe("bounced");
    expect(routes.find("other")).toBe("all");
  });

  test("a name without a route is an error that says how to add one", () => {
    const routes = new Routes<string>();
    routes.add("signups", "signups");
    expect(() => routes.find("signup")).toThrow(RouteError);
    expect(() => routes.find("signup")).toThrow(
      'no route leads from "signup": add one with broker.route("signup", queue), or publish to the queue itself. There are routes from signups.',
    );
  });

  test("a pattern has one route, and one form", () => {
    const routes = new Routes<string>();
    routes.add("a", "one");
    expect(() => routes.add("a", "two")).toThrow('"a" leads to a queue already');
    for (const pattern of ["", "a*b", "*a", "**", 7]) {
      expect(() => routes.add(pattern as string, "x")).toThrow(TypeError);
    }
  });
});
