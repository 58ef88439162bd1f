/** An exact number. Its denominator is above 0. */
export class Fraction {
    private constructor(private readonly numerator: bigint, private readonly denominator: bigint) {}

    /** The quotient of two integers, reduced. */
    static of(numerator: bigint, denominator = 1n): Fraction {
        const by = divisor(numerator, denominator) * (denominator < 0n ? -1n : 1n);
        return new Fraction(numerator / by, denominator / by);
    }

    plus(other: Fraction): Fraction {
        return Fraction.of(this.numerator * other.denominator + other.numerator * this.denominator, this.denominator * other.denominator);
    }

    minus(other: Fraction): Fraction { return this.plus(other.times(-1n)); }

    times(factor: bigint | Fraction): Fraction {
        return typeof factor === "bigint" ? Fraction.of(this.numerator * factor, this.denominator)
            : Fraction.of(this.numerator * factor.numerator, this.denominator * factor.denominator);
    }

    over(other: Fraction): Fraction { return Fraction.of(this.numerator * other.denominator, this.denominator * other.numerator); }

    /** Below 0, 0 or above 0. */
    get sign(): number { return this.numerator === 0n ? 0 : this.numerator < 0n ? -1 : 1; }

    isAbove(other: Fraction): boolean { return this.minus(other).sign > 0; }

    /** The largest integer that is not above this. */
    floor(): bigint {
        const quotient = this.numerator / this.denominator; // towards 0
        return quotient * this.denominator > this.numerator ? quotient - 1n : quotient;
    }

    /** The smallest integer that is not below this. */
    ceil(): bigint { return -this.times(-1n).floor(); }
}

export const zero = Fraction.of(0n);

/** The larger of two. */
export function later(a: Fraction, b: Fraction): Fraction { return a.isAbove(b) ? a : b; }

/** The greatest common divisor. */
function divisor(a: bigint, b: bigint): bigint {
    while (b !== 0n) {
        [a, b] = [b, a % b];
    }
    return a < 0n ? -a : a;
}
